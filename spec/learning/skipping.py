"""Which candidates are too hopeless to try, at a stated risk (rules L7, L8).

The question is not how good a prediction is but how often the true best looks this bad. For each
held-out workload: by which factor was the candidate that proved best predicted slower than the one
predicted fastest? If workloads are exchangeable, a new one exceeds the ceil((n + 1)(1 - risk))-th
smallest of n such factors with at most the probability `risk` (split conformal prediction: Vovk,
Gammerman and Shafer 2005; Lei et al. 2018). The factors here come from fits that leave one workload
out, each nearly the final fit; the bound is then approximate, which `minimum_factor` covers.
"""

from fractions import Fraction

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.learning.ordering_error import workloads_of
from spec.learning.predictor import HeldOut, Prediction
from spec.ranking.bounds import at_least, unit_interval


@frozen
class SkipPolicy:
    """How much may be skipped, and at which risk."""

    risk: Fraction = field(default=Fraction(1, 20), validator=unit_interval("L7"))
    """Bound on how often the true best of a workload is skipped. 0 skips nothing."""
    minimum_factor: Fraction = Fraction(6, 5)
    """How much slower, beyond the error, a candidate must look; at least 1."""
    maximum_share: Fraction = field(default=Fraction(1, 2), validator=unit_interval("L7"))
    """Of the candidates, rounded down."""
    audit_every: int = field(default=20, validator=at_least(1, "L7"))
    """Every so many selections nothing is skipped: what is never tried can never prove the model
    wrong, and only complete workloads calibrate."""

    def __attrs_post_init__(self) -> None:
        if self.minimum_factor < 1:
            raise InvalidValue("minimum_factor", str(self.minimum_factor), "at least 1", "L7")


@frozen
class Calibration:
    """Per complete held-out workload, how much slower than the fastest the true best looked."""

    factors: tuple[Fraction, ...]
    """Each at least 1, smallest first."""


@frozen
class Skipped:
    """A candidate that is not tried, and why."""

    plan: str
    predicted_factor: Fraction
    """Its predicted latency over the smallest predicted one."""
    needed: Fraction
    """The factor above which a candidate is skipped."""


def calibrate(held_out: tuple[HeldOut, ...], complete: frozenset[str]) -> Calibration:
    """Return the factors of the workloads in `complete`: those of which every candidate was tried.

    A workload of which some were skipped would prove the skipping right by never looking. The true
    best is the smallest measured latency, then the smallest plan name. One whose plan was never
    seen elsewhere gives 1, since such a plan is never skipped; so does a workload of one plan.
    """
    factors = []
    for group in workloads_of(held_out):
        if group[0].point.workload not in complete:
            continue
        best = min(group, key=lambda one: (one.measured_ns, one.point.plan))
        known = [one.predicted_ns for one in group if one.known_plan]
        factors.append(Fraction(best.predicted_ns, min(known)) if best.known_plan else Fraction(1))
    return Calibration(tuple(sorted(factors)))


def hopeless(
    predictions: tuple[Prediction, ...],
    protected: frozenset[str],
    calibration: Calibration,
    policy: SkipPolicy,
    selection_number: int,
) -> tuple[Skipped, ...]:
    """Return the candidates to skip, the most hopeless first.

    `predictions` has one per candidate; `protected` holds at least the reference, and the served
    plan if there is one. A candidate is skipped if its predicted latency is more than the
    calibrated factor times `minimum_factor` over the smallest predicted one. Never skipped: the
    protected, plans never observed, more than the stated share, anything while there are too few
    complete workloads for the risk (fewer than 1/risk - 1), anything in an audited selection
    (number divisible by `audit_every`).

    Raises `InvalidValue` (L7) without a protected candidate, and for two predictions of one plan.
    """
    plans = [one.plan for one in predictions]
    if len(set(plans)) < len(plans):
        raise InvalidValue("predictions", "two of one plan", "one per candidate", "L7")
    if not protected & set(plans):
        raise InvalidValue("protected", str(sorted(protected)), "the reference at least", "L7")
    count = len(calibration.factors)
    exact = (count + 1) * (1 - policy.risk)
    place = -(-exact.numerator // exact.denominator)
    if place > count or selection_number % policy.audit_every == 0:
        return ()
    # With a risk of 1 the place is 0: every factor is allowed to be exceeded.
    error_factor = calibration.factors[place - 1] if place else Fraction(1)
    needed = error_factor * policy.minimum_factor
    known = [one for one in predictions if one.known_plan]
    smallest = min((one.latency_ns for one in known), default=1)
    found = [
        Skipped(one.plan, Fraction(one.latency_ns, smallest), needed)
        for one in known
        if one.plan not in protected and one.latency_ns > needed * smallest
    ]
    found.sort(key=lambda one: (-one.predicted_factor, one.plan))
    limit = policy.maximum_share * len(predictions)
    return tuple(found[: limit.numerator // limit.denominator])
