"""What to build, as values: models, their inputs, and how to search."""

from fractions import Fraction
from pathlib import Path
from typing import Final

from attrs import field, frozen

from ortsel.builder.tolerances import BY_TYPE
from ortsel.plan import Provider

WORKLOAD_BUDGET_S: Final = 30.0


@frozen
class Settings:
    """How to search; a spec gives them for all models, and a model its own."""

    budget_s: float = WORKLOAD_BUDGET_S
    """Longest time for the search of one workload."""
    families: tuple[str, ...] = ()
    """Families of candidates; empty is all of them."""
    min_speedup: Fraction | None = None
    """Least speed-up that is worth another plan; None is the policy's."""
    seed: int = 0
    """Source of made-up inputs and of the order of measurements."""
    providers: tuple[Provider, ...] = ()
    """Providers of the reference; empty is ONNX Runtime's own choice."""
    threads: int | None = None
    """Threads of the reference; None is ONNX Runtime's own choice."""
    bound: bool = False
    """Call through bound buffers, as `run_with_iobinding` does."""
    gap_ms: int = 0
    """From the end of a call to the begin of the next in production; 0 is back to back."""
    tolerance: str = BY_TYPE
    """How far outputs may be: a word, or `METRIC=NUMBER`."""
    ep_context: bool = True
    """Keep the winner's compiled model where its provider compiles."""


@frozen
class ShapeChoice:
    """The sizes that one input or one open dimension takes."""

    name: str
    sizes: tuple[tuple[int, ...], ...]
    """Whole shapes of an input, or single sizes of a dimension."""
    line: int = 0
    place: str = ""


@frozen
class ModelSpec:
    """One model with its inputs: made up from shapes, or samples from files."""

    path: Path
    name: str
    """As the spec writes it."""
    settings: Settings = Settings()
    shapes: tuple[ShapeChoice, ...] = ()
    """Every combination is one workload, the last name varying fastest."""
    fills: tuple[tuple[str, str], ...] = ()
    """One value for an input, by name."""
    feeds: Path | None = None
    """A npz file, or a folder of npz files or of one npy file per input."""
    line: int = 0
    place: str = field(default="models[0]")


@frozen
class BuildSpec:
    """Everything that one build does."""

    models: tuple[ModelSpec, ...]
    output: Path
    """The folder for everything that the build makes."""
    source: str = "spec"
    total_budget_s: float | None = None
    """Longest time for all searches of one run; None is no limit."""
