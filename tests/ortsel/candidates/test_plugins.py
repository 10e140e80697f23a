"""A plan for each device of a provider library, without loading one."""

from attrs import evolve

from ortsel.candidates import REFERENCE, CandidateFacts, LeftOut, generate
from ortsel.candidates.plugins import plugin_candidates
from ortsel.plan import Plan, Provider
from ortsel.providers.plugin import Plugin, PluginDevice, PluginLibrary

CPU = "CPUExecutionProvider"
LIBRARY = PluginLibrary("mine", "/lib/mine.so", "a" * 64)
OTHER = PluginLibrary("theirs", "/lib/theirs.so", "b" * 64)
NPU = PluginDevice("my_ep", "me", "NPU", "1:2")
TWO = Plugin(LIBRARY, (NPU, evolve(NPU, position=1)))
FACTS = CandidateFacts(2, 2, (CPU,), plugins=(TWO,))
PLAIN = Plan(REFERENCE, (Provider(CPU),))


def plans(reference: Plan, facts: CandidateFacts) -> dict[str, Plan]:
    found = plugin_candidates(reference, facts)
    return {one.name: one for one in found if isinstance(one, Plan)}


def test_each_device_has_a_plan_that_names_library_and_device() -> None:
    found = plans(PLAIN, FACTS)
    assert list(found) == ["plugin:my_ep@npu", "plugin:my_ep@npu#2"]
    for plan, device in zip(found.values(), TWO.devices, strict=True):
        assert plan.providers == (Provider("my_ep", (), LIBRARY, device), Provider(CPU))
    first, second = found.values()
    assert first.parts() != second.parts()


def test_the_key_has_the_librarys_content_and_not_its_path() -> None:
    moved = evolve(TWO, library=evolve(LIBRARY, path="/elsewhere.so"))
    changed = evolve(TWO, library=evolve(LIBRARY, content="c" * 64))
    [before, *_] = plans(PLAIN, FACTS).values()
    [same, *_] = plans(PLAIN, evolve(FACTS, plugins=(moved,))).values()
    [other, *_] = plans(PLAIN, evolve(FACTS, plugins=(changed,))).values()
    assert same.parts() == before.parts()
    assert other.parts() != before.parts()


def test_the_users_options_and_other_providers_stay() -> None:
    reference = Plan(REFERENCE, (Provider("my_ep", (("fast", "1"),), LIBRARY), Provider("CUDA")))
    found = plans(reference, FACTS)["plugin:my_ep@npu"].providers
    assert found is not None
    assert found[0].options == (("fast", "1"),)
    assert found[1:] == (Provider("CUDA"),)


def test_a_provider_with_one_device_that_the_reference_runs_on_is_left_out() -> None:
    reference = Plan(REFERENCE, (Provider("my_ep", (), LIBRARY), Provider(CPU)))
    one = evolve(FACTS, plugins=(Plugin(LIBRARY, (NPU,)),))
    [found] = plugin_candidates(reference, one)
    assert found == LeftOut("plugin:my_ep@npu", "same-as-reference", "the reference runs on it")
    assert plans(PLAIN, one)


def test_two_libraries_with_providers_of_one_name_are_told_apart() -> None:
    both = evolve(FACTS, plugins=(Plugin(LIBRARY, (NPU,)), Plugin(OTHER, (NPU,))))
    assert list(plans(PLAIN, both)) == ["plugin:my_ep@npu", "plugin:my_ep@npu,theirs"]
    names = [plan.name for plan in generate(PLAIN, both)]
    assert len(set(names)) == len(names)
