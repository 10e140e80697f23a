"""Every public member of ONNX Runtime's classes and of its module is there, and is thought of."""

import types
from typing import Any

import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_inference_collection import Session

import ortsel
from ortsel import io_binding, session_options
from ortsel.io_binding import distrust_the_rest
from ortsel.session_options import pass_through_the_rest
from tests.ortsel.contract.surface import (
    differences,
    module_differences,
    parameter_differences,
    public_members,
)

NEWEST = "1.32"
"""The newest ONNX Runtime whose members were gone through. An older one has fewer."""

SELECTED = {"run", "run_with_iobinding"}
"""Calls that a plan may serve."""

REBUILT = {"io_binding", "set_ep_dynamic_options", "set_providers", "set_tuning_results"}
"""Calls that change what serves, or what is known of it."""

ON_THE_REFERENCE = {
    "create_ortvalue_from_shape_and_type",
    "disable_fallback",
    "enable_fallback",
    "end_profiling",
    "get_input_epdevices",
    "get_input_memory_infos",
    "get_inputs",
    "get_modelmeta",
    "get_output_memory_infos",
    "get_outputs",
    "get_overridable_initializers",
    "get_profiling_start_time_ns",
    "get_provider_graph_assignment_info",
    "get_provider_options",
    "get_providers",
    "get_session_options",
    "get_tuning_results",
    "release_captured_graph",
    "run_async",
    "run_with_ort_values",
    "run_with_ortvaluevector",
}
"""ONNX Runtime's own methods, inherited: they ask or run the reference."""

RECORDED = {
    "add_free_dimension_override_by_denotation",
    "add_free_dimension_override_by_name",
    "add_session_config_entry",
    "register_custom_ops_library",
}
"""Options that a plan is given too."""

NOT_PORTABLE = {
    "add_external_initializers",
    "add_external_initializers_from_files_in_memory",
    "add_initializer",
    "add_provider",
    "add_provider_for_devices",
    "clear_ep_context_data_read_func",
    "set_ep_context_data_read_func",
    "set_load_cancellation_flag",
    "set_provider_selection_policy",
    "set_provider_selection_policy_delegate",
}
"""Options that keep a session from being tuned."""

READ_BACK = {
    "enable_cpu_mem_arena",
    "enable_mem_pattern",
    "enable_mem_reuse",
    "enable_profiling",
    "execution_mode",
    "execution_order",
    "graph_optimization_level",
    "inter_op_num_threads",
    "intra_op_num_threads",
    "log_severity_level",
    "log_verbosity_level",
    "logid",
    "optimized_model_filepath",
    "profile_file_prefix",
    "use_deterministic_compute",
    "use_per_session_threads",
}
"""Options that can be read from ONNX Runtime's own object."""

BINDING = {
    "bind_cpu_input",
    "bind_input",
    "bind_ortvalue_input",
    "bind_ortvalue_output",
    "bind_output",
    "clear_binding_inputs",
    "clear_binding_outputs",
}
"""Calls of a binding that its signature follows."""

KNOWN = {
    "InferenceSession": SELECTED | REBUILT | ON_THE_REFERENCE,
    "SessionOptions": RECORDED | NOT_PORTABLE | READ_BACK | session_options.READ_ONLY,
    "IOBinding": BINDING | io_binding.READ_ONLY,
}
OWN_NAMES = {
    "IOBinding",
    "InferenceSession",
    "SessionOptions",
    "register_execution_provider_library",
    "unregister_execution_provider_library",
}
"""Names that stand for something of ortsel's own in both modules' place."""


@pytest.mark.parametrize("name", list(KNOWN))
def test_every_member_is_there_takes_the_same_parameters_and_was_thought_of(name: str) -> None:
    native, own = getattr(onnxruntime, name), getattr(ortsel, name)
    assert len(public_members(native)) > 10, "pointless unless there are members"
    assert differences(native, own, KNOWN[name]) == []


@pytest.mark.parametrize("name", list(KNOWN))
def test_no_member_is_named_that_the_newest_runtime_lacks(name: str) -> None:
    if not onnxruntime.__version__.startswith(f"{NEWEST}."):
        pytest.skip(f"only ONNX Runtime {NEWEST} has all of them")
    assert KNOWN[name] <= set(public_members(getattr(onnxruntime, name)))


def test_the_base_class_has_nothing_that_the_session_lacks() -> None:
    assert differences(Session, ortsel.InferenceSession, KNOWN["InferenceSession"]) == []


def test_a_member_that_a_later_runtime_adds_is_named() -> None:
    class InferenceSession(onnxruntime.InferenceSession):  # type: ignore[misc]
        def run_on_the_moon(self) -> None: ...

    found = differences(InferenceSession, ortsel.InferenceSession, KNOWN["InferenceSession"])
    assert [line.split(":")[0] for line in found] == [
        "InferenceSession.run_on_the_moon is new",
        "InferenceSession.run_on_the_moon is missing in ortsel",
    ]


def test_a_parameter_that_a_later_runtime_adds_is_named() -> None:
    class InferenceSession(onnxruntime.InferenceSession):  # type: ignore[misc]
        def run(
            self, output_names: object, input_feed: object, run_options: object = None, *, on: str
        ) -> None: ...

        @property
        def io_binding(self) -> None: ...

    found = differences(InferenceSession, ortsel.InferenceSession, KNOWN["InferenceSession"])
    assert len(found) == 2
    assert found[0] == "InferenceSession.io_binding is a property, not a function"
    assert found[1].startswith("InferenceSession.run takes ['self', 'output_names")


def test_a_default_that_changes_is_named() -> None:
    def theirs(self: object, device: str = "cpu") -> None: ...
    def ours(self: object, device: str = "gpu") -> None: ...

    assert parameter_differences(theirs, theirs) == []
    assert len(parameter_differences(theirs, ours)) == 1


def test_a_compiled_method_is_compared_by_its_documentation() -> None:
    native = onnxruntime.SessionOptions.add_session_config_entry
    own = ortsel.SessionOptions.add_session_config_entry
    assert parameter_differences(native, own) == []
    assert parameter_differences(native, ortsel.SessionOptions.recorded_settings) == [
        "takes ['arg0', 'arg1'], ortsel's []"
    ]


def test_the_module_has_every_name() -> None:
    assert module_differences(onnxruntime, ortsel, OWN_NAMES) == []


def test_a_name_that_a_later_runtime_adds_is_there_or_named() -> None:
    newer = types.ModuleType("onnxruntime")
    newer.__dict__.update({"SparseTensor": object(), "run_on_the_moon": None})
    assert module_differences(newer, ortsel, OWN_NAMES) == [
        "ortsel.SparseTensor is not onnxruntime's",
        "onnxruntime.run_on_the_moon is missing in ortsel",
    ]


def test_all_names_come_with_a_star() -> None:
    names: dict[str, object] = {}
    exec("from ortsel import *", names)
    public = {name for name in dir(onnxruntime) if not name.startswith("_")}
    assert public - set(names) == set()
    assert names["InferenceSession"] is ortsel.InferenceSession


def test_options_set_by_a_method_that_nobody_knows_keep_a_session_from_being_tuned() -> None:
    class Native:
        def set_the_moon(self, phase: int) -> int:
            return phase

        def has_providers(self) -> bool:
            return False

    class Own(Native):
        def __init__(self) -> None:
            self._not_portable: list[str] = []

    pass_through_the_rest(Own, Native)
    own = Own()
    assert (own.set_the_moon(3), own.has_providers()) == (3, False)
    assert own._not_portable == ["set_the_moon"]


def test_a_binding_by_a_method_that_nobody_knows_runs_on_the_reference() -> None:
    class Native:
        def bind_the_moon(self, phase: int) -> int:
            return phase

        def get_outputs(self) -> None: ...

    class Own(Native):
        def __init__(self) -> None:
            self._seen = io_binding._Seen(None, signature="as it was")

    distrust_the_rest(Own, Native)
    own = Own()
    own.get_outputs()
    assert own._seen.signature == "as it was"
    assert own.bind_the_moon(phase=3) == 3
    seen: Any = own._seen
    assert (list(seen.unknown), seen.signature) == (["bind_the_moon"], None)
