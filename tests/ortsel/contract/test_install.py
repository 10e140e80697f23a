"""`ortsel.install` puts ortsel under ONNX Runtime's names, and `uninstall` takes it away again."""

from collections.abc import Iterator
from pathlib import Path

import onnxruntime
import pytest

import ortsel
from ortsel.plan import Plan
from ortsel.selection_config import SelectionConfig, SelectionMode, as_config
from ortsel.selection_environment import selection_from
from ortsel.session_builder import build_session
from ortsel.session_settings import build_options
from tests.ortsel.trial import models

NATIVE = {name: getattr(onnxruntime, name) for name in ("InferenceSession", "SessionOptions")}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("ORTSEL_MODE", "ORTSEL_STORE", "ORTSEL_BUDGET_S", "ORTSEL_MAX_SHAPES"):
        monkeypatch.delenv(name, raising=False)
    yield
    ortsel.uninstall()


def test_installing_twice_and_removing_leaves_onnx_runtime_as_it_was() -> None:
    before = dict(vars(onnxruntime))
    ortsel.install()
    ortsel.install()
    assert onnxruntime.InferenceSession is ortsel.InferenceSession
    assert onnxruntime.SessionOptions is ortsel.SessionOptions
    assert onnxruntime.IOBinding is ortsel.IOBinding
    ortsel.uninstall()
    ortsel.uninstall()
    assert dict(vars(onnxruntime)) == before


def test_what_somebody_else_put_there_later_is_not_taken_away() -> None:
    class Traced(ortsel.InferenceSession): ...

    ortsel.install()
    onnxruntime.InferenceSession = Traced
    ortsel.uninstall()
    found = onnxruntime.InferenceSession
    onnxruntime.InferenceSession = NATIVE["InferenceSession"]
    assert found is Traced
    assert onnxruntime.SessionOptions is NATIVE["SessionOptions"]


def test_plans_are_built_of_onnx_runtimes_own_classes_while_installed(tmp_path: Path) -> None:
    ortsel.install()
    session = build_session(models.linear(tmp_path / "model.onnx"), Plan("reference"))
    assert type(session) is NATIVE["InferenceSession"]
    assert type(build_options(Plan("reference").settings)) is NATIVE["SessionOptions"]


def test_an_unmodified_program_can_be_tuned_because_its_options_are_recorded(
    tmp_path: Path,
) -> None:
    ortsel.install(SelectionConfig("cache-only", tmp_path / "store.sqlite"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(models.linear(tmp_path / "model.onnx"), options)
    session.run(None, models.FEED)
    assert session.explain().not_tuned == ""


def test_the_installed_selection_serves_sessions_that_name_none(tmp_path: Path) -> None:
    ortsel.install(SelectionConfig("blocking", tmp_path / "store.sqlite", budget_s=3))
    assert as_config(None).budget_s == 3
    assert as_config(SelectionConfig(budget_s=4)).budget_s == 4
    ortsel.install()
    assert as_config(None) == SelectionConfig()


def test_the_environment_serves_sessions_that_name_no_selection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ORTSEL_MODE", "blocking")
    monkeypatch.setenv("ORTSEL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("ORTSEL_BUDGET_S", "2.5")
    monkeypatch.setenv("ORTSEL_MAX_SHAPES", "7")
    assert as_config(None) == SelectionConfig(
        "blocking", tmp_path / "store.sqlite", 2.5, max_shapes=7
    )
    monkeypatch.setenv("ORTSEL_STORE", ":memory:")
    monkeypatch.setenv("ORTSEL_MODE", "")
    assert as_config(None).store is None
    assert as_config(None).mode is SelectionConfig().mode


def test_disabled_in_the_environment_wins_over_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORTSEL_MODE", "disabled")
    ortsel.install(SelectionConfig("blocking"))
    assert as_config(None).mode is SelectionMode.DISABLED
    assert as_config(SelectionConfig("blocking")).mode is SelectionMode.DISABLED
    monkeypatch.setenv("ORTSEL_MODE", "cache-only")
    assert as_config(SelectionConfig("blocking")).mode is SelectionMode.BLOCKING


@pytest.mark.parametrize(
    ("variable", "value", "need"),
    [
        ("ORTSEL_MODE", "sometimes", "one of 'b"),
        ("ORTSEL_BUDGET_S", "soon", "a number of seconds"),
        ("ORTSEL_BUDGET_S", "-1", "a number of seconds above 0"),
        ("ORTSEL_MAX_SHAPES", "1.5", "an integer"),
        ("ORTSEL_STORE", "a\0b", "a path without NUL"),
    ],
)
def test_a_variable_with_a_bad_value_is_named(variable: str, value: str, need: str) -> None:
    with pytest.raises(ortsel.UsageError) as caught:
        selection_from({variable: value})
    assert str(caught.value).startswith(f"{variable}: got {value!r}, need {need}")


def test_a_bad_variable_keeps_ortsel_from_being_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORTSEL_BUDGET_S", "soon")
    with pytest.raises(ortsel.UsageError, match="ORTSEL_BUDGET_S"):
        ortsel.install()
    assert onnxruntime.InferenceSession is NATIVE["InferenceSession"]
