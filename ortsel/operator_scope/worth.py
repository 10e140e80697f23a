"""Whether deciding about attention by itself takes less time than it saves."""

from typing import Final

from attrs import frozen

from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS

START_NS: Final = 700 * MILLISECOND_NS
"""For a child to import ONNX Runtime, in either scope."""
REWRITE_NS: Final = SECOND_NS
"""For a child to import what rewrites a whole model. Variants of what was cut out are built by the
child that cuts, all of them together."""
BYTES_PER_NS: Final = (1, 5)
"""Of weights that a variant of a whole model is written with, 200 MB a second, as a fraction."""
MEASUREMENTS: Final = 32
"""In eight blocks: what it usually takes to see that a candidate has lost."""
MEASUREMENTS_OF_A_LOOK: Final = 8
"""What it takes where a short look shows that it is hopeless, as on a whole model."""
MEASUREMENT_NS: Final = 20 * MILLISECOND_NS
"""The shortest measurement."""
CALLS: Final = 12
"""Besides: warm-ups and comparisons."""
LOSING: Final = (1, 2)
"""The share of variants that lose clearly, assumed; those are what the whole model is spared."""


@frozen
class Side:
    """What a trial costs in one scope."""

    call_ns: int
    load_ns: int = 0
    """Building the session."""
    rewrites: bool = False
    """Whether it is the whole model, whose variant is built for the trial."""
    weight_bytes: int = 0
    """With which it is written."""

    def trial_ns(self) -> int:
        """Return how long the trial of one losing candidate takes."""
        numerator, denominator = BYTES_PER_NS
        written_ns = self.weight_bytes * denominator // numerator if self.rewrites else 0
        rewrite_ns = REWRITE_NS if self.rewrites else 0
        measurements = MEASUREMENTS_OF_A_LOOK if self.rewrites else MEASUREMENTS
        measured_ns = measurements * max(MEASUREMENT_NS, self.call_ns)
        return (
            START_NS + self.load_ns + rewrite_ns + written_ns + measured_ns + CALLS * self.call_ns
        )


def saved_ns(variants: int, whole: Side) -> int:
    """Return what the whole model's search is spared."""
    numerator, denominator = LOSING
    return variants * whole.trial_ns() * numerator // denominator


def spent_ns(variants: int, problems: int, alone: Side) -> int:
    """Return what so many searches for attention by itself take, the reference's trial included."""
    return problems * (variants + 1) * alone.trial_ns()
