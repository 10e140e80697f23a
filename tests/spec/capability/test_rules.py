"""Every rule has a call that keeps it and a twin that breaks it first (C5 to C7)."""

import pytest

from spec.capability import ALL_RULES, ORDER, RULES, Backend, Rule
from spec.capability.gates import REVISION
from spec.capability.rule import first_broken
from tests.spec.capability.rule_examples import BASES, TWINS


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_a_rule_holds_for_its_base_and_is_the_first_one_that_its_twin_breaks(rule: Rule) -> None:
    assert rule.id in TWINS, "a rule without a pair of examples is a rule nobody tried"
    twin = TWINS[rule.id]
    base = BASES[twin.base]
    assert base.backend is rule.backend
    assert base.attention.operator in rule.operators, "pointless out of the rule's scope"
    assert first_broken(RULES[rule.backend], base.case()) == ()
    (exclusion,) = first_broken(RULES[rule.backend], twin.example().case())
    assert exclusion.rule_id == rule.id
    assert exclusion.got not in {"", exclusion.need}
    assert exclusion.need == rule.need
    assert exclusion.source == rule.source


@pytest.mark.parametrize("name", BASES)
def test_every_base_breaks_no_rule_of_its_backend(name: str) -> None:
    base = BASES[name]
    assert first_broken(RULES[base.backend], base.case()) == ()


def test_no_rule_id_occurs_twice() -> None:
    ids = [rule.id for rule in ALL_RULES]
    assert len(ids) == len(set(ids))


def test_every_backend_has_rules_of_its_own_only() -> None:
    assert set(RULES) == set(ORDER)
    for backend, rules in RULES.items():
        assert rules
        assert all(rule.backend is backend for rule in rules)


def test_every_rule_says_what_it_needs_and_who_says_so() -> None:
    for rule in ALL_RULES:
        assert rule.need, rule.id
        assert rule.source, rule.id
        assert rule.operators, rule.id
    assert any(REVISION in rule.source for rule in ALL_RULES)


def test_a_rule_is_silent_about_operators_outside_its_scope() -> None:
    scoped = next(rule for rule in ALL_RULES if rule.id == "flash_attention_2:type_float16")
    bert = BASES["flash_attention_2_bert"]
    twin = TWINS["flash_attention_2:type"].example()
    assert bert.attention.operator not in scoped.operators
    assert not scoped.holds(twin.case()), "pointless unless the condition itself fails"
    assert not scoped.broken_by(twin.case())


def test_math_cannot_be_disabled_and_so_has_no_rule_for_it() -> None:
    conditions = {rule.id for rule in RULES[Backend.MATH]}
    assert "math:disabled" not in conditions
    assert "math:compiled" not in conditions
