"""Places in a plan that become folders of this machine."""

from pathlib import Path

import platformdirs
import pytest

from ortsel.providers.cache_place import PLACE, option_values


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path


def test_a_place_becomes_a_folder_that_is_there(home: Path) -> None:
    options = option_values((("trt_engine_cache_path", f"{PLACE}/engines/abc"), ("a", "1")))
    assert options == {"trt_engine_cache_path": str(home / "ortsel/engines/abc"), "a": "1"}
    assert (home / "ortsel/engines/abc").is_dir()


def test_other_values_stay_and_make_nothing(home: Path) -> None:
    own = (("cache_dir", str(home / "mine")), ("load_config", '{"CPU":{}}'))
    assert option_values(own) == dict(own)
    assert list(home.iterdir()) == []
