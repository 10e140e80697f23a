"""Which candidates get a proper turn, and in what order, after a short look at them."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Final

from spec.candidate import Candidate
from spec.failure import Failure, FailureKind

SHORT_LOOK: Final = "a short look found"
"""How the reason begins of a candidate that gets no turn for what such a look found."""

HOPELESS: Final = Fraction(11, 10)
"""Of the reference's time. A look at a few calls in one process is off by a tenth now and then: a
plan that is faster by what matters must not be lost for that."""
HOPED_FOR: Final = 0.8
"""Of the reference's time: the place of a candidate whose look did not come. Worth a turn before
those that gain little, and after those that seem to gain more."""


def shortlist(
    names: Sequence[str],
    looked_at: Collection[str],
    ratios: Mapping[str, Fraction],
    failures: Mapping[str, Failure],
) -> tuple[Candidate, ...]:
    """Return all candidates, the reference first, in the order of their turns.

    `names` are in ranked order, the reference's first; `looked_at` are those that were to be looked
    at. `ratios` are times over the reference's, as a look found them.

    Those that nobody was to look at come first, in ranked order: the plans of other devices. Then
    those that were, the fastest first, so that a good rival ends the turns of all that follow, with
    those whose look did not come at `HOPED_FOR` among them; then those that failed for a reason
    that may pass. Not eligible is what cannot run here, and what was over `HOPELESS`.
    """
    reference, *others = names
    kept: list[tuple[float, Candidate]] = []
    out: list[Candidate] = []
    for name in others:
        failure, ratio = failures.get(name), ratios.get(name)
        if failure is not None and failure.kind is FailureKind.UNSUPPORTED:
            out.append(Candidate(name, ineligible=f"{failure.code}: {failure.detail}"))
        elif ratio is None:
            place = HOPED_FOR if name in looked_at and failure is None else 0.0
            kept.append((float("inf") if failure else place, Candidate(name)))
        elif ratio > HOPELESS:
            reason = f"{SHORT_LOOK} {float(ratio):.2f} of the reference's time"
            out.append(Candidate(name, ineligible=reason))
        else:
            kept.append((float(ratio), Candidate(name)))
    kept.sort(key=lambda one: one[0])
    return (Candidate(reference), *(candidate for _, candidate in kept), *out)
