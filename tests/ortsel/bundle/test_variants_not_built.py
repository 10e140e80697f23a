"""An imported decision for a graph variant that is not built here is a miss in mode cache-only."""

import time
from collections.abc import Iterator
from pathlib import Path

import onnxruntime
import pytest
from attrs import evolve

import ortsel
from ortsel.call_trials import Call, CallTrials, Subject
from ortsel.candidates import CandidateFacts
from ortsel.loaded_model import LoadedModel
from ortsel.selectors import forget_all
from ortsel.store import SqliteStore
from ortsel.trial.calling import Calling
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.rig import Verified
from ortsel.variant_cache import VariantCache, VariantMissingError, variant_cache
from spec.record import Origin
from tests.ortsel.store.sample_records import PLAIN
from tests.ortsel.trial import models

VARIANT = "ort-fusions"
PLAN = ortsel.Plan("variant=ort-fusions", variant=VARIANT)
NEVER_NS = 2**62
IMPORTED = evolve(PLAIN, winner=PLAN.name, origin=Origin.IMPORTED)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.linear(tmp_path / "model.onnx")


@pytest.fixture(autouse=True)
def no_selectors() -> Iterator[None]:
    forget_all()
    yield
    forget_all()


def trials(model: Path, cache: VariantCache) -> CallTrials:
    """Return trials of a session that may not build variants."""
    loaded = LoadedModel.of(model, time.time_ns())
    plans = (ortsel.Plan("reference"), PLAN)
    subject = Subject(loaded, plans, lambda _: None, 10**10, False, None, False, cache)
    outputs = onnxruntime.InferenceSession(model).run(None, models.FEED)
    found = CallTrials(subject, Call(models.FEED, ("y",), Calling.NUMPY, lambda: outputs))
    found.record_loaded(IMPORTED)
    return found


def keep(cache: VariantCache, model: Path, built: Path) -> None:
    cache.keep(LoadedModel.of(model, time.time_ns()).content().digest, VARIANT, built)


def test_what_is_not_built_is_not_verified_and_no_child_starts(model: Path, tmp_path: Path) -> None:
    with trials(model, VariantCache(tmp_path / "v")) as found:
        with pytest.raises(VariantMissingError, match="ort-fusions is not built here"):
            found.validate(0, 1, time.monotonic_ns() + 10**11)
        assert not found._rig_started
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_what_was_built_before_is_verified_as_it_is(
    model: Path, tmp_path: Path, factor: float
) -> None:
    cache = VariantCache(tmp_path / "v")
    keep(cache, model, models.linear(tmp_path / "built.onnx", factor=factor))
    with trials(model, cache) as found:
        deadline_ns = time.monotonic_ns() + 10**11
        if factor == 1.0:
            assert isinstance(found.validate(0, 1, deadline_ns), Verified)
        else:
            with pytest.raises(TrialFailedError, match="wrong-value"):
                found.validate(0, 1, deadline_ns)


def test_a_session_in_cache_only_keeps_the_reference_until_the_variant_is_there(
    model: Path, tmp_path: Path
) -> None:
    place = tmp_path / "s.sqlite3"

    def plans(facts: CandidateFacts) -> list[ortsel.Plan]:
        return [evolve(facts.reference, name=PLAN.name, variant=VARIANT)]

    def explained() -> tuple[str, str]:
        forget_all()
        config = ortsel.SelectionConfig("cache-only", str(place), candidates=plans)
        session = ortsel.InferenceSession(model, selection=config)
        session.run(None, models.FEED)
        found = session.explain().workloads[-1]
        return found.key, f"{found.plan}: {found.reason}"

    store = SqliteStore(place)
    store.save(PLAIN, "{}")
    key, _ = explained()
    assert key
    record = evolve(IMPORTED, key=key, created_s=int(time.time()) - 60)
    store.save(record, "{}")
    _, words = explained()
    assert words.startswith("reference: ")
    assert "not built here" in words
    assert not (tmp_path / "s.sqlite3.variants").exists()
    assert store.load(key) == record
    keep(variant_cache(str(place)), model, models.linear(tmp_path / "built.onnx"))
    _, words = explained()
    assert words.startswith(f"{PLAN.name}: ")
    store.close()
