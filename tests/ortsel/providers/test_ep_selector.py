"""The decision as ONNX Runtime's delegate, with the devices of a real provider library."""

from pathlib import Path

import pytest

from ortsel import EpSelector, SelectionConfig, UsageError
from tests.ortsel.providers.in_own_process import run
from tests.ortsel.providers.plugin_models import feed

pytestmark = pytest.mark.slow


def test_without_a_decision_the_cpu_is_chosen_although_policies_would_take_the_plugin(
    tmp_path: Path,
) -> None:
    lines = run(
        """
        ortsel.register_execution_provider_library("mine", library_of(PACKAGE).path)
        options = onnxruntime.SessionOptions()
        policy = onnxruntime.OrtExecutionProviderDevicePolicy.PREFER_CPU
        options.set_provider_selection_policy(policy)
        print(onnxruntime.InferenceSession(model, options).get_providers())
        selector = ortsel.EpSelector(model, feed(), ortsel.SelectionConfig(store=None))
        print(selector.explain())
        options = onnxruntime.SessionOptions()
        options.set_provider_selection_policy_delegate(selector)
        print(onnxruntime.InferenceSession(model, options).get_providers())
        print(selector.explain().rows()[0]["source"])
        """,
        tmp_path,
    )
    assert lines == [
        "['cpu_ep', 'CPUExecutionProvider']",
        "None",
        "['CPUExecutionProvider']",
        "cache-miss",
    ]


def test_what_was_measured_decides(tmp_path: Path) -> None:
    lines = run(
        """
        ortsel.register_execution_provider_library("mine", library_of(PACKAGE).path)
        config = ortsel.SelectionConfig(mode="blocking", store=None, budget_s=30)
        selector = ortsel.EpSelector(model, feed(), config)
        options = onnxruntime.SessionOptions()
        options.set_provider_selection_policy_delegate(selector)
        session = onnxruntime.InferenceSession(model, options)
        [row] = selector.explain().rows()
        expected = PROVIDER if row["plan"].startswith("plugin:") else "CPUExecutionProvider"
        print(row["source"], session.get_providers()[0] == expected)
        print(len(selector.explain().candidate_rows()))
        """,
        tmp_path,
    )
    assert lines == ["tuned True", "2"]


def test_a_winner_is_found_again_among_the_devices_that_are_offered(tmp_path: Path) -> None:
    lines = run(
        """
        from ortsel.providers.device_listing import registered_plugins
        ortsel.register_execution_provider_library("mine", library_of(PACKAGE).path)
        selector = ortsel.EpSelector(model, feed(), ortsel.SelectionConfig(store=None))
        devices = list(onnxruntime.get_ep_devices())
        cpu = [one for one in devices if one.ep_name == "CPUExecutionProvider"]
        print([one.ep_name for one in selector(devices, {}, {}, 8)])
        [plugin] = registered_plugins()
        selector._winner = plugin.devices[0]
        print([one.ep_name for one in selector(devices, {}, {}, 8)])
        print([one.ep_name for one in selector(devices, {}, {}, 1)])
        print([one.ep_name for one in selector(cpu, {}, {}, 8)])
        ortsel.unregister_execution_provider_library("mine")
        print([one.ep_name for one in selector(cpu, {}, {}, 8)])
        """,
        tmp_path,
    )
    assert lines == [
        "['CPUExecutionProvider']",
        "['cpu_ep', 'CPUExecutionProvider']",
        "['cpu_ep']",
        "['CPUExecutionProvider']",
        "['CPUExecutionProvider']",
    ]


def test_candidates_of_the_users_own_are_refused() -> None:
    with pytest.raises(UsageError, match=r"selection\.candidates: got \(\), need None"):
        EpSelector("model.onnx", feed(), SelectionConfig(candidates=()))
