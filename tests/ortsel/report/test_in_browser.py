"""The page as a browser shows it, on a desk and on a phone, by day and by night."""

import base64
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click.testing
import pytest

from ortsel.cli.app import app
from ortsel.report.shown_text import TIMES
from ortsel.store import SqliteStore
from ortsel.store.search_log import LoggedEntry, Searched, SearchLog
from spec.report import TrialReport
from tests.ortsel.report.conftest import Reader, Sample
from tests.ortsel.report.sample_store import HOSTILE, HOSTILE_REASON

DESK: Final = 1100
PHONE: Final = 390
WIDTHS: Final = pytest.mark.parametrize("width", [DESK, PHONE])
SCHEMES: Final = pytest.mark.parametrize("scheme", ["light", "dark"])
LEAST_CONTRAST: Final = 4.5
"""WCAG 2.2, success criterion 1.4.3, for text of ordinary size."""

pytestmark = pytest.mark.slow

_TABLE: Final = """
  return [...document.querySelectorAll(arguments[0])].map(row => ({
    data: {...row.dataset},
    head: row.querySelector('th').textContent.trim(),
    cells: Object.fromEntries([...row.querySelectorAll('td')].map(cell =>
      [cell.dataset.label, {
        text: cell.textContent.trim(),
        values: [...cell.querySelectorAll('data')].map(one => one.value),
      }])),
  }));
"""
_OPEN_ALL: Final = "document.querySelectorAll('details').forEach(one => { one.open = true; });"
_CONTRASTS: Final = """
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = text => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = one => {
    for (; one; one = one.parentElement) {
      const colour = rgb(getComputedStyle(one).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgb(getComputedStyle(document.body).backgroundColor);
  };
  const found = {};
  for (const one of document.querySelectorAll('body *')) {
    const own = [...one.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !one.getClientRects().length) continue;
    const style = getComputedStyle(one);
    const ink = rgb(one.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const [high, low] = [light(ink), light(behind(one))].sort((a, b) => b - a);
    const key = `${one.tagName}.${one.getAttribute('class') || ''} ${ink} on ${behind(one)}`;
    found[key] = (high + 0.05) / (low + 0.05);
  }
  return found;
"""


def rows(reader: Reader, selector: str) -> list[dict[str, Any]]:
    """Return the rows of tables as text and exact values."""
    found: list[dict[str, Any]] = reader.ask(_TABLE, selector)
    return found


def newest_searches(sample: Sample) -> dict[str, TrialReport]:
    """Return what the log says, by key."""
    log = SearchLog(sample.store.with_name(sample.store.name + ".searches"))
    entries = [one.entry for one in log.entries() if isinstance(one, LoggedEntry)]
    return {one.report.key: one.report for one in entries if isinstance(one, Searched)}


@WIDTHS
@SCHEMES
def test_nothing_is_asked_for_and_nothing_is_complained_about(
    reader: Reader, sample: Sample, width: int, scheme: str
) -> None:
    reader.open(sample.page, width=width, scheme=scheme)
    requests = [one for one in reader.requests() if not one.startswith("data:")]
    assert requests == [sample.page.as_uri()]
    assert reader.complaints() == []


def test_the_check_for_requests_and_complaints_can_fail(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text('<img src="missing.png"><script>console.error("no")</script>')
    reader.open(page, width=DESK)
    assert any(one.endswith("missing.png") for one in reader.requests())
    assert reader.complaints()


def test_the_decisions_shown_are_those_of_the_store(reader: Reader, sample: Sample) -> None:
    reader.open(sample.page, width=DESK)
    shown = {row["data"]["key"]: row["cells"] for row in rows(reader, ".decisions tbody tr")}
    store = SqliteStore(sample.store)
    stored = {one.record.key: one.record for one in store.records()}
    store.close()
    assert shown.keys() == stored.keys()
    assert len(shown) == 5, "pointless unless every sample is there"
    for key, record in stored.items():
        cells = shown[key]
        assert cells["Plan"]["text"] == record.winner
        assert cells["Time"]["values"] == [str(record.winner_ns)]
        assert cells["Reference"]["values"] == [str(record.reference_ns)]
        assert cells["Speed-up"]["values"] == [str(record.ratio)]
        assert rounds_to(cells["Speed-up"]["text"].rstrip(TIMES), 1 / record.ratio)
        if record.winner != record.reference:
            assert cells["Spread"]["values"] == [str(record.dispersion)]
        if record.feeds:
            assert f"{record.feeds} feeds" in cells["Checked"]["text"]


def rounds_to(text: str, exact: Fraction) -> bool:
    """Say whether a number as shown is the exact one to its last digit."""
    digits = len(text.partition(".")[2])
    return abs(Fraction(text) - exact) <= Fraction(1, 2 * 10**digits)


def test_every_candidate_is_shown_with_its_evidence(reader: Reader, sample: Sample) -> None:
    reader.open(sample.page, width=DESK)
    reader.ask(_OPEN_ALL)
    logged = newest_searches(sample)
    seen = 0
    for key in sample.records.keys() & logged.keys():
        found = rows(reader, f'.candidates[data-key="{key}"] tbody tr')
        candidates = logged[key].candidates
        reference_ns = candidates[0].median_ns
        assert reference_ns is not None
        for row, candidate in zip(found, candidates, strict=True):
            cells = row["cells"]
            assert row["head"] == candidate.name
            if candidate.ratio is not None:
                seen += 1
                expected_ns = round(reference_ns * candidate.ratio)
                assert cells["Time"]["values"] == [str(expected_ns)]
                assert cells["Speed-up"]["values"] == [str(candidate.ratio)]
            if candidate.blocks:
                assert cells["Spread"]["values"] == [str(candidate.dispersion)]
                assert cells["Blocks"]["values"] == [str(candidate.blocks)]
                assert ("two states" in cells["Blocks"]["text"]) == (candidate.states == 2)
                assert ("over" in cells["Blocks"]["text"]) == (candidate.window_ns > 0)
            if candidate.first_ns is not None:
                assert cells["First call"]["values"] == [str(candidate.first_ns)]
    assert seen == 4 * 7, "pointless unless every measured candidate was compared"


def test_regret_is_the_chosen_over_the_best_that_was_not_rejected(
    reader: Reader, sample: Sample
) -> None:
    reader.open(sample.page, width=DESK)
    found = rows(reader, ".decisions tbody tr")
    regrets = [
        row["cells"]["Regret"]["values"] for row in found if row["cells"]["Regret"]["values"]
    ]
    assert regrets == [["100/97", "7/200"]] * 4


def test_rejections_and_regressions_say_why(reader: Reader, sample: Sample) -> None:
    reader.open(sample.page, width=DESK)
    rejected = {
        row["head"]: row["cells"]["Why"]["text"] for row in rows(reader, ".rejections tbody tr")
    }
    assert rejected.keys() == {"openvino:CPU", HOSTILE, "cuda:tf32"}
    assert "17 of 2048 values differ" in rejected["openvino:CPU"]
    changes = [row["cells"]["What happened"] for row in rows(reader, ".changes tbody tr")]
    assert len(changes) == 2
    assert changes[0]["values"] == ["51/100", "17/25"]
    assert "environment.onnxruntime.version" in changes[0]["text"]
    assert "taken back: outputs differ" in changes[1]["text"]
    searches = rows(reader, ".searches tbody tr")
    assert [row["cells"]["Speed-up"]["values"] for row in searches] == [
        ["1/2"], ["51/100"], ["17/25"],
    ]  # fmt: skip


@WIDTHS
def test_a_hostile_name_is_text(reader: Reader, sample: Sample, width: int) -> None:
    reader.open(sample.page, width=width)
    reader.ask(_OPEN_ALL)
    assert reader.ask("return document.querySelectorAll('script, img, iframe, object').length") == 0
    assert (
        reader.ask(
            "return [...document.querySelectorAll('*')].some("
            "one => one.getAttributeNames().some(name => name.startsWith('on')))"
        )
        is False
    )
    text = reader.ask("return document.body.textContent")
    assert HOSTILE in text
    assert HOSTILE_REASON.partition(" \u202e")[0] in text
    assert "\u202e" not in text
    assert "\x1b" not in text


@WIDTHS
def test_no_reader_scrolls_sideways(reader: Reader, sample: Sample, width: int) -> None:
    reader.open(sample.page, width=width)
    reader.ask(_OPEN_ALL)
    assert reader.ask("return document.documentElement.scrollWidth") <= width
    beyond = reader.ask(
        "return [...document.querySelectorAll('body *')].filter(one => {"
        "  const box = one.getBoundingClientRect();"
        "  return box.width > 1 && (box.right > innerWidth + 1 || box.left < -1);"
        "}).map(one => one.outerHTML.slice(0, 120))"
    )
    assert beyond == []


def test_the_check_for_scrolling_can_fail(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "wide.html"
    page.write_text("<meta name=viewport content='width=device-width'><div style=width:900px>x")
    reader.open(page, width=PHONE)
    assert reader.ask("return document.documentElement.scrollWidth") > PHONE


@WIDTHS
def test_each_width_has_its_own_figures_beside_a_table(
    reader: Reader, sample: Sample, width: int
) -> None:
    reader.open(sample.page, width=width)
    shown, other = (".wide", ".narrow") if width == DESK else (".narrow", ".wide")
    visible = (
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter(one => one.getClientRects().length).length"
    )
    reader.ask(_OPEN_ALL)
    assert reader.ask(visible, f"svg{shown}") == 2 + 4 + 1
    assert reader.ask(visible, f"svg{other}") == 0
    smallest = reader.ask(
        "return Math.min(...[...document.querySelectorAll('svg' + arguments[0] + ' text')].map("
        "one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a))",
        shown,
    )
    assert smallest >= 10
    untitled = "return [...document.querySelectorAll('svg')].filter(one => !one.ariaLabel).length"
    assert reader.ask(untitled) == 0
    lonely = (
        "return [...document.querySelectorAll('figure')].filter(one => "
        "!one.parentElement.querySelector('table')).length"
    )
    assert reader.ask(lonely) == 0


@WIDTHS
@SCHEMES
def test_all_text_stands_out_from_what_is_behind_it(
    reader: Reader, sample: Sample, width: int, scheme: str
) -> None:
    reader.open(sample.page, width=width, scheme=scheme)
    reader.ask(_OPEN_ALL)
    contrasts: dict[str, float] = reader.ask(_CONTRASTS)
    assert len(contrasts) > 20, "pointless unless text was found"
    weak = {key: round(value, 2) for key, value in contrasts.items() if value < LEAST_CONTRAST}
    assert weak == {}


def test_dark_is_dark_and_light_is_light(reader: Reader, sample: Sample) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        reader.open(sample.page, width=DESK, scheme=scheme)
        colours[scheme] = reader.ask(
            "const style = getComputedStyle(document.body);"
            "const names = ['ink', 'soft', 'line', 'bad', ...[...'0123456'].map(n => 'plan-' + n)];"
            "const mark = getComputedStyle(document.querySelector('.map path[style*=plan]')).fill;"
            "return [style.backgroundColor, style.color, mark,"
            "        ...names.map(name => style.getPropertyValue('--' + name))]"
        )
    assert all(light != dark for light, dark in zip(*colours.values(), strict=True))
    assert brightness(colours["light"][0]) > 200
    assert brightness(colours["dark"][0]) < 50


def brightness(colour: str) -> float:
    """Return the mean of a computed colour's channels."""
    channels = [int(one) for one in re.findall(r"\d+", colour)[:3]]
    return sum(channels) / 3


@WIDTHS
@SCHEMES
def test_a_screenshot_is_left_for_people(
    reader: Reader, sample: Sample, pytestconfig: pytest.Config, width: int, scheme: str,
    record_property: Any,
) -> None:  # fmt: skip
    reader.open(sample.page, width=width, scheme=scheme)
    height = reader.ask("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    taken = reader.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    assert pytestconfig.cache is not None
    path = pytestconfig.cache.mkdir("report") / f"report-{width}-{scheme}.png"
    path.write_bytes(base64.b64decode(taken["data"]))
    record_property("screenshot", str(path))
    print(f"screenshot: {path}")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000


def test_the_json_says_what_the_page_says(sample: Sample) -> None:
    result = click.testing.CliRunner().invoke(
        app, ["report", "--store", str(sample.store), "--json"]
    )
    assert result.exit_code == 0
    document = json.loads(result.output)
    decisions = {
        shape["decision"]["key"]: shape["decision"]
        for model in document["models"]
        for shape in model["shapes"]
    }
    assert decisions.keys() == sample.records.keys()
    for key, record in sample.records.items():
        assert decisions[key]["winner_ns"] == record.winner_ns
        assert Fraction(decisions[key]["ratio_exact"]) == record.ratio
