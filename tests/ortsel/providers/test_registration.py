"""Registration, devices and sessions of a real provider library, each case in its own process."""

from pathlib import Path

import pytest

from ortsel.providers.device_listing import plugin_of
from ortsel.providers.library_search import library_at, library_of
from ortsel.providers.plugin import PluginLibraryError
from tests.ortsel.providers.in_own_process import run
from tests.ortsel.providers.plugin_models import PACKAGE, PROVIDER

pytestmark = pytest.mark.slow


def test_devices_are_listed_without_registering_anything_here() -> None:
    import onnxruntime

    plugin = plugin_of(library_of(PACKAGE))
    [device] = plugin.devices
    assert (device.provider, device.kind, device.position) == (PROVIDER, "CPU", 0)
    assert device.label == "cpu_ep@cpu"
    assert PROVIDER not in onnxruntime.get_available_providers()


def test_a_library_that_does_not_load_is_named_with_the_reason(tmp_path: Path) -> None:
    broken = tmp_path / "libbroken.so"
    broken.write_bytes(b"CreateEpFactories")
    with pytest.raises(PluginLibraryError, match=r"libbroken\.so: got .*need a library that loads"):
        plugin_of(library_at(broken))


def test_a_plan_registers_its_library_once_and_runs_on_its_device(tmp_path: Path) -> None:
    lines = run(
        """
        from ortsel.providers.device_listing import plugin_of
        from ortsel.session_builder import build_session, nodes_by_provider
        from ortsel.plan import Plan, Provider
        plugin = plugin_of(library_of(PACKAGE))
        [device] = plugin.devices
        on_device = Provider(PROVIDER, (), plugin.library, device)
        by_name = Provider(PROVIDER, (), plugin.library)
        reference = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        for provider in (on_device, on_device, by_name):
            session = build_session(model, Plan("p", (provider, Provider("CPUExecutionProvider"))))
            same = np.allclose(session.run(None, feed())[0], reference.run(None, feed())[0])
            print(session.get_providers(), nodes_by_provider(session), same)
        print(len([one for one in onnxruntime.get_ep_devices() if one.ep_name == PROVIDER]))
        """,
        tmp_path,
    )
    assert lines == [
        *["['cpu_ep', 'CPUExecutionProvider'] {'cpu_ep': 2} True"] * 3,
        "1",
    ]


def test_registering_through_ortsel_behaves_as_onnxruntime_does(tmp_path: Path) -> None:
    lines = run(
        """
        path = library_of(PACKAGE).path
        ortsel.register_execution_provider_library("mine", path)
        try:
            ortsel.register_execution_provider_library("mine", path)
        except Exception as error:
            print(type(error).__name__)
        ensure_registered(library_of(PACKAGE))
        print(onnxruntime.get_available_providers().count(PROVIDER))
        print(len([one for one in onnxruntime.get_ep_devices() if one.ep_name == PROVIDER]))
        ortsel.unregister_execution_provider_library("mine")
        print(len([one for one in onnxruntime.get_ep_devices() if one.ep_name == PROVIDER]))
        """,
        tmp_path,
    )
    assert lines == ["Fail", "1", "1", "0"]


def test_registering_works_where_ortsel_took_the_place_of_onnxruntime(tmp_path: Path) -> None:
    lines = run(
        """
        ortsel.install()
        onnxruntime.register_execution_provider_library("mine", library_of(PACKAGE).path)
        print(onnxruntime.get_available_providers().count(PROVIDER))
        onnxruntime.unregister_execution_provider_library("mine")
        print(onnxruntime.get_available_providers().count(PROVIDER))
        """,
        tmp_path,
    )
    assert lines == ["1", "0"]


def test_a_library_that_was_registered_past_ortsel_is_not_registered_again(tmp_path: Path) -> None:
    lines = run(
        """
        from ortsel.providers.device_listing import registered_plugins
        onnxruntime.register_execution_provider_library("past", library_of(PACKAGE).path)
        ensure_registered(library_of(PACKAGE))
        print(len([one for one in onnxruntime.get_ep_devices() if one.ep_name == PROVIDER]))
        [plugin] = registered_plugins()
        print(plugin.library.content == library_of(PACKAGE).content, plugin.library.registration)
        """,
        tmp_path,
    )
    assert lines == ["1", "True cpu_ep"]


def test_the_users_own_registration_is_accepted_after_a_plan_needed_the_library(
    tmp_path: Path,
) -> None:
    lines = run(
        """
        from ortsel.providers.device_listing import registered_plugins
        library = library_of(PACKAGE)
        ensure_registered(library)
        print(len(registered_plugins()))
        ortsel.register_execution_provider_library(library.registration, library.path)
        print(len(registered_plugins()))
        """,
        tmp_path,
    )
    assert lines == ["0", "1"]


def test_a_file_that_was_replaced_since_the_plan_was_made_is_refused(tmp_path: Path) -> None:
    lines = run(
        """
        import shutil
        copy = folder / "libcopy.so"
        shutil.copy(library_of(PACKAGE).path, copy)
        library = library_at(copy)
        ensure_registered(library)
        with copy.open("ab") as file:
            file.write(b"newer")
        try:
            ensure_registered(library)
        except PluginLibraryError as error:
            print(error.got.startswith("content "), error.need.startswith("that of the plan"))
        copy.unlink()
        try:
            ensure_registered(library)
        except PluginLibraryError as error:
            print(error.need)
        """,
        tmp_path,
    )
    assert lines == ["True True", "the file of the plan"]


def test_a_plans_library_does_not_change_the_environment_and_the_users_does(tmp_path: Path) -> None:
    lines = run(
        """
        from ortsel.environment import read_environment
        library = library_of(PACKAGE)
        before = read_environment().parts()
        ensure_registered(library)
        print(read_environment().parts() == before)
        ortsel.register_execution_provider_library(library.registration, library.path)
        after = read_environment()
        print(after.parts()["providers"] == before["providers"], after.unknown)
        print([one[-1] == library.content for one in after.plugins if one[0] == PROVIDER])
        """,
        tmp_path,
    )
    assert lines == ["True", "True ()", "[True]"]


def test_a_session_that_names_a_registered_provider_is_tuned_in_children_that_have_it(
    tmp_path: Path,
) -> None:
    lines = run(
        """
        ortsel.register_execution_provider_library("mine", library_of(PACKAGE).path)
        from attrs import evolve
        from ortsel.plan import Provider
        def hopeless(facts):
            providers = (Provider("NoSuchExecutionProvider"), *facts.reference.providers)
            return [evolve(facts.reference, name="hopeless", providers=providers)]
        config = ortsel.SelectionConfig(
            mode="blocking", store=None, budget_s=60, candidates=hopeless
        )
        session = ortsel.InferenceSession(
            str(model), providers=[PROVIDER, "CPUExecutionProvider"], selection=config
        )
        session.run(None, feed())
        [explained] = session.explain().workloads
        print(session.get_providers(), explained.candidates[0].first_ns is not None)
        print(explained.candidates[1].outcome.value)
        """,
        tmp_path,
    )
    assert lines == ["['cpu_ep', 'CPUExecutionProvider'] True", "failed"]


def test_each_device_of_a_named_package_gets_a_plan_that_is_tried(tmp_path: Path) -> None:
    lines = run(
        """
        from ortsel.candidates.plugins import plugin_candidates
        config = ortsel.SelectionConfig(
            mode="blocking", store=None, budget_s=20, plugins=[PACKAGE],
            candidates=lambda facts: plugin_candidates(facts.reference, facts),
        )
        session = ortsel.InferenceSession(
            str(model), providers=["CPUExecutionProvider"], selection=config
        )
        session.run(None, feed())
        [explained] = session.explain().workloads
        print(explained.source, [one.name for one in explained.candidates])
        print([one.first_ns is not None for one in explained.candidates])
        """,
        tmp_path,
    )
    assert lines[0] == "tuned ['reference', 'plugin:cpu_ep@cpu']"
    assert lines[1] == "[True, True]"


def test_a_fork_while_a_library_is_being_registered_does_not_hang(tmp_path: Path) -> None:
    lines = run(
        """
        import os
        from ortsel.providers import registration
        library = library_of(PACKAGE)
        with registration._guard.lock:
            child = os.fork()
            if child == 0:
                ensure_registered(library)
                os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        tmp_path,
    )
    assert lines == ["7"]
