"""The session takes, returns and raises what ONNX Runtime's own does."""

import copy
import inspect
import logging
import os
import pickle
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from attrs import evolve

import ortsel
from ortsel.choice import Choice, Choices
from ortsel.plan import Plan
from tests.ortsel.trial import models

MODES = ["disabled", "cache-only", "background", "served"]
"""In the last one a plan serves every call, whatever its shape."""

OWN = (
    "IOBinding",
    "InferenceSession",
    "SessionOptions",
    "register_execution_provider_library",
    "unregister_execution_provider_library",
)
"""Names of ONNX Runtime's for which ortsel has something of its own."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.linear(tmp_path / "model.onnx")


class Everything(Choices):
    """Choices of which every look-up finds the same plan."""

    def __init__(self, plan: onnxruntime.InferenceSession) -> None:
        super().__init__()
        self.plan = plan

    def get(self, key: Any, default: Any = None) -> Any:
        return Choice(self.plan, 2**62, self.plan._sess.run)


def both(
    model: Path, mode: str, tmp_path: Path
) -> tuple[ortsel.InferenceSession, onnxruntime.InferenceSession]:
    serves = mode == "served"
    config = ortsel.SelectionConfig("cache-only" if serves else mode, tmp_path / "store.sqlite")
    session = ortsel.InferenceSession(model, selection=config)
    if serves:
        assert session._ortsel_connection is not None
        choices = Everything(onnxruntime.InferenceSession(model))
        session._ortsel_connection = evolve(session._ortsel_connection, choices=choices)
    return session, onnxruntime.InferenceSession(model)


def outcome(action: Callable[[], Any]) -> tuple[str, str]:
    """Return what an action gives: the type and text of its exception, or its result."""
    try:
        result = action()
    except Exception as error:
        logging.getLogger(__name__).debug("as it may", exc_info=True)
        return type(error).__name__, re.sub(r"0x[0-9a-f]+", "ADDRESS", str(error))
    return "result", repr(result)


CALLS: dict[str, Callable[[Any], Any]] = {
    "all outputs": lambda session: session.run(None, models.FEED),
    "no names": lambda session: session.run([], models.FEED),
    "one output": lambda session: session.run(["y"], models.FEED),
    "an output twice": lambda session: session.run(["y", "y"], models.FEED),
    "tuple of names": lambda session: session.run(("y",), models.FEED),
    "names from a generator": lambda session: session.run((n for n in ["y"]), models.FEED),
    "names as one text": lambda session: session.run("y", models.FEED),
    "names as bytes": lambda session: session.run([b"y"], models.FEED),
    "names in lists": lambda session: session.run([["y"]], models.FEED),
    "unknown output": lambda session: session.run(["no"], models.FEED),
    "output names of a wrong type": lambda session: session.run([1], models.FEED),
    "no feed": lambda session: session.run(None, {}),
    "feed is no dict": lambda session: session.run(None, [1]),
    "missing input": lambda session: session.run(None, {"z": models.FEED["x"]}),
    "one input too many": lambda session: session.run(None, models.FEED | {"z": models.FEED["x"]}),
    "wrong type": lambda session: session.run(None, {"x": models.FEED["x"].astype(np.float64)}),
    "wrong rank": lambda session: session.run(None, {"x": models.FEED["x"][0]}),
    "wrong width": lambda session: session.run(None, {"x": models.FEED["x"][:, :3]}),
    "empty batch": lambda session: session.run(None, {"x": models.FEED["x"][:0]}),
    "list": lambda session: session.run(None, {"x": models.FEED["x"].tolist()}),
    "number": lambda session: session.run(None, {"x": 1.0}),
    "none": lambda session: session.run(None, {"x": None}),
    "text": lambda session: session.run(None, {"x": np.array(["a"])}),
    "transposed": lambda session: session.run(None, {"x": np.asfortranarray(models.FEED["x"])}),
    "strided": lambda session: session.run(None, {"x": np.repeat(models.FEED["x"], 2, 0)[::2]}),
    "reversed": lambda session: session.run(None, {"x": models.FEED["x"][::-1]}),
    "broadcast": lambda session: session.run(
        None, {"x": np.broadcast_to(models.FEED["x"][:1], (3, models.WIDTH))}
    ),
    "other byte order": lambda session: session.run(None, {"x": models.FEED["x"].astype(">f4")}),
    "run options": lambda session: session.run(None, models.FEED, onnxruntime.RunOptions()),
    "run options of a wrong type": lambda session: session.run(None, models.FEED, 3),
    "keywords": lambda session: session.run(output_names=None, input_feed=models.FEED),
    "ort values": lambda session: [
        value.numpy()
        for value in session.run_with_ort_values(
            None, {"x": onnxruntime.OrtValue.ortvalue_from_numpy(models.FEED["x"])}
        )
    ],
    "ort value in run": lambda session: session.run(
        None, {"x": onnxruntime.OrtValue.ortvalue_from_numpy(models.FEED["x"])}
    ),
    "nothing bound": lambda session: session.run_with_iobinding(session.io_binding()),
    "no binding": lambda session: session.run_with_iobinding(None),
    "unknown input bound": lambda session: session.io_binding().bind_cpu_input(
        "no", models.FEED["x"]
    ),
    "providers": lambda session: session.get_providers(),
    "provider options": lambda session: session.get_provider_options(),
    "inputs": lambda session: [(i.name, i.type, i.shape) for i in session.get_inputs()],
    "pickle": pickle.dumps,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", list(CALLS))
def test_a_call_gives_the_same_result_or_exception_first_and_later(
    call: str, mode: str, model: Path, tmp_path: Path
) -> None:
    ours, plain = both(model, mode, tmp_path)
    expected = outcome(lambda: CALLS[call](plain))
    for _ in range(2):
        assert outcome(lambda: CALLS[call](ours)) == expected


@pytest.mark.parametrize("mode", MODES)
def test_a_bound_run_gives_the_same_outputs(mode: str, model: Path, tmp_path: Path) -> None:
    for session in (pair := both(model, mode, tmp_path)):
        binding = session.io_binding()
        binding.bind_cpu_input("x", models.FEED["x"])
        binding.bind_output("y")
        for _ in range(2):
            session.run_with_iobinding(binding)
        np.testing.assert_array_equal(
            binding.copy_outputs_to_cpu()[0], pair[1].run(None, models.FEED)[0]
        )


def test_a_binding_of_another_session_is_judged_by_onnx_runtime(
    model: Path, tmp_path: Path
) -> None:
    ours, plain = both(model, "cache-only", tmp_path)
    other = onnxruntime.InferenceSession(model)

    def run(session: Any) -> Any:
        binding = other.io_binding()
        binding.bind_cpu_input("x", models.FEED["x"])
        binding.bind_output("y")
        session.run_with_iobinding(binding)

    assert outcome(lambda: run(ours)) == outcome(lambda: run(plain))


def test_it_is_an_instance_with_the_same_public_members() -> None:
    assert issubclass(ortsel.InferenceSession, onnxruntime.InferenceSession)
    native = {name for name in dir(onnxruntime.InferenceSession) if not name.startswith("_")}
    ours = {name for name in dir(ortsel.InferenceSession) if not name.startswith("_")}
    assert native, "pointless unless there are members"
    assert ours - native == {"explain", "statistics"}
    assert native <= ours


@pytest.mark.parametrize(
    "name", ["run", "run_with_iobinding", "io_binding", "set_providers", "run_async"]
)
def test_a_method_takes_the_same_parameters(name: str) -> None:
    def parameters(owner: Any) -> list[tuple[str, Any]]:
        signature = inspect.signature(getattr(owner, name))
        return [(item.name, item.default) for item in signature.parameters.values()]

    assert parameters(ortsel.InferenceSession) == parameters(onnxruntime.InferenceSession)


def test_the_constructor_takes_the_same_parameters_and_selection() -> None:
    native = list(inspect.signature(onnxruntime.InferenceSession.__init__).parameters)
    ours = list(inspect.signature(ortsel.InferenceSession.__init__).parameters)
    assert [name for name in ours if name != "selection"] == native
    assert "selection" in ours


def test_the_module_gives_every_name_of_onnxruntime() -> None:
    names = [name for name in dir(onnxruntime) if not name.startswith("_")]
    assert len(names) > 50, "pointless unless there are names"
    for name in names:
        if name not in OWN:
            assert getattr(ortsel, name) is getattr(onnxruntime, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = ortsel.no_such_name


@pytest.mark.parametrize(
    "arguments",
    [
        {"path_or_bytes": 3},
        {"path_or_bytes": b"no model"},
        {"path_or_bytes": "no-such-file.onnx"},
        {"providers": 3},
        {"providers": ["NoSuchProvider"]},
        {"providers": ["CPUExecutionProvider"], "provider_options": [{}, {}]},
        {"providers": ["CPUExecutionProvider"], "provider_options": []},
        {"providers": [["CPUExecutionProvider", {}]]},
        {"providers": [("CPUExecutionProvider", {}, 1)]},
        {"providers": ["CPUExecutionProvider"], "provider_options": [None]},
        {"sess_options": 3},
    ],
)
@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_constructor_call_gives_the_same_exception(
    arguments: dict[str, Any], model: Path, tmp_path: Path
) -> None:
    complete = {"path_or_bytes": str(model)} | arguments
    config = ortsel.SelectionConfig("cache-only", tmp_path / "store.sqlite")

    def kind(action: Callable[[], Any]) -> str:
        return outcome(lambda: type(action()).__mro__[-2].__name__)[0]

    plain = kind(lambda: onnxruntime.InferenceSession(**complete))
    assert kind(lambda: ortsel.InferenceSession(**complete, selection=config)) == plain


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "sometimes"),
        ("store", 3),
        ("budget_s", 0),
        ("budget_s", float("nan")),
        ("budget_s", "30"),
        ("seed", -1),
        ("policy", None),
        ("max_shapes", 0),
    ],
)
def test_a_setting_outside_its_range_names_the_field_and_the_value(field: str, value: Any) -> None:
    with pytest.raises(ortsel.UsageError) as caught:
        ortsel.SelectionConfig(**{field: value})
    assert str(caught.value).startswith(f"{field}: got {value!r}, need ")


def test_a_selection_that_is_no_configuration_is_refused_before_anything_is_built(
    model: Path,
) -> None:
    with pytest.raises(ortsel.UsageError, match="selection"):
        ortsel.InferenceSession(model, selection="blocking")  # type: ignore[arg-type]


class PickledByState:
    """A mixin that keeps only where the model is, as programs do for worker processes."""

    _model_path: str

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self._model_path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind: Any = type(self)
        kind.__init__(self, state["path"])


class PickledByReduce:
    """The same by the other protocol."""

    _model_path: str

    def __reduce__(self) -> Any:
        return type(self), (self._model_path,)


class OursByState(PickledByState, ortsel.InferenceSession):
    """Pickled by its state."""


class OursByReduce(PickledByReduce, ortsel.InferenceSession):
    """Pickled as a call."""


@pytest.mark.parametrize("kind", [OursByState, OursByReduce])
def test_a_subclass_is_pickled_and_copied_as_it_says_itself(kind: Any, model: Path) -> None:
    session = kind(str(model))
    [expected] = session.run(None, models.FEED)
    for other in (pickle.loads(pickle.dumps(session)), copy.copy(session), copy.deepcopy(session)):
        assert type(other) is kind
        assert other._sess is not session._sess
        np.testing.assert_array_equal(other.run(None, models.FEED)[0], expected)


def test_names_of_outputs_in_bytes_are_served_and_no_fault(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours, plain = both(model, "cache-only", tmp_path)
    names: Any = [b"y"]
    [expected] = plain.run(names, models.FEED)
    for _ in range(2):
        np.testing.assert_array_equal(ours.run(names, models.FEED)[0], expected)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert "names of outputs in bytes" in str(ours.explain())


class InBytes:
    """A path-like object whose path is bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


def test_a_path_in_bytes_is_selected_for_as_any_other(model: Path) -> None:
    path: Any = InBytes(model)
    session = ortsel.InferenceSession(path)
    assert session._model_path == os.fsencode(model)
    assert session.explain().not_tuned == ""


def reference_of(session: ortsel.InferenceSession) -> Plan:
    assert session._ortsel_connection is not None
    return session._ortsel_connection.tuner._reference


def test_optimizers_that_an_iterator_names_are_disabled_in_the_plan_of_the_reference(
    model: Path,
) -> None:
    session = ortsel.InferenceSession(model, disabled_optimizers=iter(["ConstantFolding"]))
    assert reference_of(session).disabled_optimizers == ("ConstantFolding",)


def test_what_onnx_runtime_dropped_in_its_rescue_is_not_in_the_plan_of_the_reference(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = ortsel.InferenceSession(
        model,
        providers=["CPUExecutionProvider"],
        provider_options=[],
        disabled_optimizers=["ConstantFolding"],
    )
    assert "Falling back" in capsys.readouterr().out, "pointless unless it was rescued"
    assert reference_of(session).disabled_optimizers == ()


def test_options_given_in_bytes_and_numpys_numbers_are_recorded_as_text_and_numbers() -> None:
    options: Any = ortsel.SessionOptions()
    options.add_session_config_entry(b"session.some", b"1")
    options.add_free_dimension_override_by_name(np.str_("n"), np.int64(3))
    assert options.get_session_config_entry("session.some") == "1"
    settings = options.recorded_settings()
    assert settings.config == (("session.some", "1"),)
    [(name, size)] = settings.free_dimensions
    assert (type(name), type(size), name, size) == (str, int, "n", 3)


def test_setting_providers_decides_anew(model: Path, tmp_path: Path) -> None:
    session, _ = both(model, "cache-only", tmp_path)
    session.run(None, models.FEED)
    assert session.explain().rows(), "pointless unless something was decided"
    session.set_providers(["CPUExecutionProvider"])
    assert session.explain().rows() == []
    session.run(None, models.FEED)
    assert len(session.explain().rows()) == 1


def test_sessions_that_no_child_could_repeat_are_never_tuned_and_say_so(
    model: Path, tmp_path: Path
) -> None:
    options = ortsel.SessionOptions()
    weights = onnxruntime.OrtValue.ortvalue_from_numpy(np.eye(models.WIDTH, dtype=np.float32))
    options.add_initializer("w", weights)
    session = ortsel.InferenceSession(model, options)
    assert "add_initializer" in session.explain().not_tuned
    profiled = ortsel.SessionOptions()
    profiled.enable_profiling = True
    profiled.profile_file_prefix = str(tmp_path / "profile")
    assert "profiling" in ortsel.InferenceSession(model, profiled).explain().not_tuned


def test_options_refuse_what_onnx_runtimes_own_refuse_and_are_never_guessed(model: Path) -> None:
    for options in (ortsel.SessionOptions(), onnxruntime.SessionOptions()):
        with pytest.raises(AttributeError):
            options.intra_op_threads = 3
    session = ortsel.InferenceSession(model, onnxruntime.SessionOptions())
    assert "use ortsel.SessionOptions" in session.explain().not_tuned


def test_the_version_is_onnx_runtimes() -> None:
    assert ortsel.__version__ == onnxruntime.__version__


def test_a_package_of_the_users_that_hides_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "__init__.py").touch()
    root = str(Path(__file__).parents[3])
    # Without `site`, so that an editable installation of this tree finds nothing before the user's.
    places = [str(tmp_path), root, sysconfig.get_paths()["purelib"]]
    script = f"import sys; sys.path[:0] = {places!r}; import ortsel"
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert str(tmp_path / "spec") in result.stderr.splitlines()[-1]


def test_importing_ortsel_without_onnx_runtime_names_the_extras(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None): return None\n"
        "import importlib.machinery as machinery\n"
        "find = machinery.PathFinder.find_spec\n"
        "machinery.PathFinder.find_spec = staticmethod(\n"
        "    lambda name, *rest: None if name == 'onnxruntime' else find(name, *rest))\n"
        "import ortsel\n"
    )
    root = Path(__file__).parents[3]
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    wanted = 'pip install "ortsel[cpu]", or "ortsel[gpu]", or "ortsel[openvino]"'
    assert wanted in result.stderr
    assert "MissingPackageError" in result.stderr


def test_importing_ortsel_does_not_import_onnx_runtime() -> None:
    script = "import sys, ortsel; sys.exit('onnxruntime' in sys.modules or 'numpy' in sys.modules)"
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", script], cwd=root, check=False).returncode == 0
