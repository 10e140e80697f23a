"""Seeded worlds of workloads and plans for the learning tests."""

from random import Random

from hypothesis import strategies as st

from spec.learning import Observation, Point, WorkloadFeatures


def workload_features(query: int, key: int) -> WorkloadFeatures:
    return WorkloadFeatures(
        flops=4 * query * key * 64,
        bytes_moved=2 * (query + 2 * key) * 64,
        lengths=(("key", key), ("query", query)),
    )


def true_latency_ns(plan: int, features: WorkloadFeatures) -> float:
    """Plan p starts slower and runs faster than plan p - 1, so the best depends on the size."""
    return 1000.0 * (1 << 2 * plan) + features.flops / (40.0 * (1, 3, 9, 27)[plan])


def learnable(
    workloads: int, seed: int, plans: int = 3, noise: float = 0.05
) -> tuple[Observation, ...]:
    random = Random(seed)
    result = []
    for number in range(workloads):
        features = workload_features(2 ** random.randint(0, 12), 2 ** random.randint(4, 13))
        for plan in range(plans):
            latency = true_latency_ns(plan, features) * 2 ** random.gauss(0, noise)
            point = Point(f"w{number:03}", f"p{plan}", features)
            result.append(Observation(point, max(1, round(latency))))
    return tuple(result)


def pure_noise(workloads: int, seed: int, plans: int = 3) -> tuple[Observation, ...]:
    """Return latencies that have nothing to do with plan or workload."""
    random = Random(seed)
    return tuple(
        Observation(one.point, random.randint(1000, 100_000))
        for one in learnable(workloads, seed, plans)
    )


@st.composite
def observations(draw: st.DrawFn, workloads: int = 5, plans: int = 3) -> tuple[Observation, ...]:
    """Draw up to that many workloads and plans, every workload with at least one plan."""
    result = []
    for number in range(draw(st.integers(1, workloads))):
        query, key = draw(st.tuples(st.integers(0, 5000), st.integers(0, 5000)))
        chosen = draw(st.sets(st.integers(0, plans - 1), min_size=1))
        for plan in sorted(chosen):
            point = Point(f"w{number}", f"p{plan}", workload_features(query, key))
            result.append(Observation(point, draw(st.integers(1, 10**9))))
    return tuple(draw(st.permutations(result)))
