"""How far an output may be from the reference's and still count as the same, per output.

By default it is the bound of the output's element type (`element_types`). A user may say otherwise
for all outputs or for one: another profile, a bound of their own, or a metric.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from attrs import field, frozen

from ortsel.errors import UsageError
from ortsel.verification.element_types import BOUNDS, CLOSE_BOUNDS, EXACT_BOUND, Bound
from ortsel.verification.metrics import Cosine, Metric, MetricFunction, RelativeL2, TopOne
from spec.canonical_json import Json, canonical

PROFILES: Final = ("by-type", "exact", "close")
RULES: Final = (Bound, Cosine, TopOne, RelativeL2, MetricFunction)
NEED: Final = (
    f"one of {', '.join(PROFILES)}, a Bound, a metric (Cosine, TopOne, RelativeL2, "
    "MetricFunction), or a mapping from names of outputs to these"
)
MOST_KEY_TEXT: Final = 256
"""Characters of a policy's tolerance."""

OutputRule: TypeAlias = str | Bound | Metric
"""A profile by its word, a bound, or a metric."""


def _rule(value: object) -> OutputRule:
    if isinstance(value, str) and value in PROFILES:
        return value
    if isinstance(value, Bound | Cosine | TopOne | RelativeL2 | MetricFunction):
        return value
    need = NEED
    if value == "lossy":
        need = "the metric that says how lossy: Cosine, TopOne, RelativeL2 or MetricFunction"
    raise UsageError("tolerance", repr(value), need)


def _sorted_overrides(
    pairs: "Mapping[str, OutputRule] | Iterable[tuple[str, OutputRule]]",
) -> tuple[tuple[str, OutputRule], ...]:
    named = dict(pairs)
    for name in named:
        if not isinstance(name, str):
            raise UsageError("tolerance", repr(name), "the name of an output")
    return tuple((name, _rule(named[name])) for name in sorted(named))


@frozen
class Tolerance:
    """Which rule holds for which output."""

    profile: OutputRule = field(default="by-type", converter=_rule)
    """What holds for outputs that are not named. "by-type" is the bound of the element type;
    "exact" is equality of values for every type; "close" is a multiple of the bound of the type;
    a bound or a metric holds for all."""
    overrides: tuple[tuple[str, OutputRule], ...] = field(default=(), converter=_sorted_overrides)
    """Rules by output name. Bounds hold for floating-point outputs only: integers, booleans and
    strings are compared exactly whatever they say. Metrics say what they do with those."""

    def rule(self, output: str) -> OutputRule:
        """Return what holds for an output."""
        return next((rule for name, rule in self.overrides if name == output), self.profile)

    def metric(self, output: str) -> Metric | None:
        """Return the metric that decides about an output; None where a bound does."""
        rule = self.rule(output)
        return None if isinstance(rule, str | Bound) else rule

    def bound(self, output: str, element: str) -> Bound:
        """Return the bound for a floating-point output of that element type.

        Where a metric decides about the output there is none but equality.
        """
        rule = self.rule(output)
        if isinstance(rule, Bound):
            return rule
        by_profile = {"by-type": BOUNDS, "close": CLOSE_BOUNDS}.get(str(rule), {})
        return by_profile.get(element, EXACT_BOUND)

    @property
    def is_lossy(self) -> bool:
        """Whether a metric decides about any output, so that lossy plans are worth a trial."""
        return any(not isinstance(rule, str | Bound) for rule in self._rules())

    @property
    def is_loose(self) -> bool:
        """Whether reduced precision may pass somewhere: a metric or "close"."""
        return self.is_lossy or "close" in self._rules()

    def _rules(self) -> tuple[OutputRule, ...]:
        return (self.profile, *(rule for _, rule in self.overrides))

    def check(self, output_names: Iterable[str]) -> None:
        """Raise `UsageError` for a name that is no output, or a function that is not there."""
        known = tuple(output_names)
        for name, _ in self.overrides:
            if name not in known:
                outputs = ", ".join(map(repr, known))
                raise UsageError("tolerance", repr(name), f"the name of an output: {outputs}")
        for rule in self._rules():
            if isinstance(rule, MetricFunction):
                rule.resolved()

    def parts(self) -> Json:
        """The tolerance as named parts of a key; numbers in hexadecimal: keys hold no floats."""
        return {
            "overrides": {name: _rule_part(rule) for name, rule in self.overrides},
            "profile": _rule_part(self.profile),
        }

    def key_text(self) -> str:
        """Return the tolerance as the text of a policy: printable ASCII, 256 characters at most."""
        if isinstance(self.profile, str) and not self.overrides:
            return self.profile
        text = canonical(self.parts())
        if text.isascii() and text.isprintable() and len(text) <= MOST_KEY_TEXT:
            return text
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _rule_part(rule: OutputRule) -> Json:
    if isinstance(rule, str):
        return rule
    if isinstance(rule, Bound):
        parts = (rule.relative, rule.scale, rule.absolute, rule.absolute_share)
        return [None if part is None else float(part).hex() for part in parts]
    if isinstance(rule, MetricFunction):
        least = None if rule.at_least is None else float(rule.at_least).hex()
        return {"at_least": least, "function": rule.function}
    if isinstance(rule, RelativeL2):
        return {"at_most": float(rule.at_most).hex(), "metric": "relative-l2"}
    name = "cosine" if isinstance(rule, Cosine) else "top-one"
    return {"at_least": float(rule.at_least).hex(), "metric": name}


def as_tolerance(value: object) -> Tolerance:
    """Return the tolerance that a user's value stands for. Raises `UsageError`."""
    if isinstance(value, Tolerance):
        return value
    if isinstance(value, Mapping):
        return Tolerance(overrides=value)
    return Tolerance(_rule(value))


BY_TYPE: Final = Tolerance()
EXACT: Final = Tolerance("exact")
CLOSE: Final = Tolerance("close")
