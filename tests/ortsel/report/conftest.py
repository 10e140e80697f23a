"""A page about the sample store, and a real browser to read it in."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click.testing
import pytest
from attrs import frozen

from ortsel.cli.app import app
from spec.record import Record
from tests.ortsel.report.sample_store import fill

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
DRIVERS: Final = ("chromedriver", "chromium.chromedriver")


@frozen
class Sample:
    """A store, what it holds, and the page about it."""

    store: Path
    records: dict[str, Record]
    page: Path


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Fill a store and have the command write its page."""
    folder = tmp_path_factory.mktemp("report")
    store, page = folder / "decisions.sqlite3", folder / "report.html"
    records = fill(store)
    result = click.testing.CliRunner().invoke(
        app, ["report", "--store", str(store), "--output", str(page)]
    )
    assert result.exit_code == 0, result.output
    return Sample(store, records, page)


def find_browser() -> tuple[str, str] | None:
    """Return a browser and its driver; None where there is none. In CI there must be one."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = next(filter(None, map(shutil.which, DRIVERS)), None)
    if browser and driver:
        return browser, driver
    assert "CI" not in os.environ, "continuous integration needs chromium and chromium-driver"
    return None


class Reader:
    """A headless browser that knows what a page did."""

    def __init__(self, driver: "Chrome") -> None:
        self.driver = driver
        self._untyped: Any = driver

    def open(self, page: Path, *, width: int, scheme: str = "light") -> None:
        """Load a page in a window of this width, for a reader who prefers this colour scheme."""
        self.driver.get("about:blank")
        self.forget()
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=844, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.driver.get(page.as_uri())

    def command(self, name: str, **values: object) -> dict[str, Any]:
        """Send a command of the DevTools protocol."""
        answer: dict[str, Any] = self.driver.execute_cdp_cmd(name, values)
        return answer

    def ask(self, script: str, *values: object) -> Any:
        """Run a script of the test's and return what it returns."""
        return self.driver.execute_script(script, *values)

    def forget(self) -> None:
        """Drop what was logged before."""
        self._untyped.get_log("browser")
        self._untyped.get_log("performance")

    def complaints(self) -> list[str]:
        """Return what the console says."""
        return [str(entry["message"]) for entry in self._untyped.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        events = [json.loads(entry["message"]) for entry in self._untyped.get_log("performance")]
        return [
            event["message"]["params"]["request"]["url"]
            for event in events
            if event["message"]["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture(scope="session")
def reader() -> Iterator[Reader]:
    """Start the browser."""
    found = find_browser()
    if found is None:
        pytest.skip("no Chromium with its driver: apt-get install chromium chromium-driver")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = found[0]
    arguments = ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
    for argument in (*arguments, *(["--no-sandbox"] if os.geteuid() == 0 else [])):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(found[1]))
    try:
        yield Reader(driver)
    finally:
        driver.quit()
