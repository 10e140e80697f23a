"""Kernels, inputs and strategies for the ranking tests."""

from fractions import Fraction

from hypothesis import strategies as st

from spec.ranking import (
    Characteristics,
    Constraints,
    Estimate,
    Kernel,
    KernelInputs,
    Registry,
    SizeRange,
    TensorInput,
    Variant,
    VariantKind,
)

PLAIN = Constraints(dtypes=frozenset({"float16", "float32"}))
INPUTS = KernelInputs((TensorInput((10, 10), "float32"),), alignment_bytes=64)


def kernel(
    name: str,
    constraints: Constraints = PLAIN,
    characteristics: Characteristics | None = None,
    operation: str = "MatMul",
    backend: str = "cpu",
) -> Kernel:
    return Kernel(
        id=name,
        name=name.title(),
        operation=operation,
        backend=backend,
        variant=Variant(VariantKind.NAIVE),
        constraints=constraints,
        characteristics=Characteristics() if characteristics is None else characteristics,
    )


def registry(*kernels: Kernel, default: str | None = None) -> Registry:
    result = Registry()
    for one in kernels:
        result = result.register(one)
    return result if default is None else result.with_default(default)


shares: st.SearchStrategy[Fraction] = st.fractions(0, 1, max_denominator=100)
latencies_ns: st.SearchStrategy[int] = st.integers(1, 10**12)
estimates: st.SearchStrategy[Estimate] = st.builds(Estimate, latencies_ns, st.integers(0, 2**40))
size_ranges: st.SearchStrategy[SizeRange] = st.builds(
    lambda low, extra: SizeRange(low, low + extra), st.integers(0, 2000), st.integers(0, 2000)
)
characteristics: st.SearchStrategy[Characteristics] = st.builds(
    Characteristics,
    optimal_size=size_ranges,
    cache_efficiency=shares,
    initialisation_ns=st.integers(0, 10**9),
)


@st.composite
def kernels(draw: st.DrawFn, at_least: int = 1) -> tuple[Kernel, ...]:
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=at_least, max_size=6, unique=True))
    limited = Constraints(dtypes=frozenset({"int8"}))
    return tuple(
        kernel(name, draw(st.sampled_from([PLAIN, PLAIN, limited])), draw(characteristics))
        for name in names
    )
