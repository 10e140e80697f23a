"""Records with fields and metrics, at decisions and failures only."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

import ortsel
from ortsel import telemetry
from ortsel.selectors import forget_all
from tests.ortsel.session.session_models import folding, unoptimized, wasteful, wasteful_feed

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _new_process() -> Iterator[None]:
    forget_all()
    telemetry.forget_warnings()
    yield
    forget_all()


CONFIG = ortsel.SelectionConfig(
    mode="blocking", store=None, candidates=folding, budget_s=60.0, keep_feeds=False
)

METRICS_PROGRAM = """
import sys
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import ortsel
from ortsel import telemetry
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed

config = ortsel.SelectionConfig(
    mode="blocking", store=None, candidates=folding, budget_s=60.0, keep_feeds=False
)
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))


def points():
    found = {}
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            assert scope.scope.name == "ortsel"
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    count = getattr(point, "value", None)
                    key = (metric.name, *sorted(point.attributes.values()))
                    found[key] = point.count if count is None else count
    return found


session = ortsel.InferenceSession(sys.argv[1], unoptimized(), selection=config)
assert points() == {}
session.run(None, wasteful_feed())
decided = points()
assert decided == {
    ("ortsel.decisions", "tuned"): 1,
    ("ortsel.searches", "promoted"): 1,
    ("ortsel.search.duration", "promoted"): 1,
    ("ortsel.candidates", "reference"): 1,
    ("ortsel.candidates", "promoted"): 1,
    ("ortsel.promotions", "folding"): 1,
}, decided
for seed in range(50):
    session.run(None, wasteful_feed(seed))
assert points() == decided, "nothing for a request"
[choice] = session._ortsel_connection.choices.values()
session._ortsel_withdraw(session._ortsel_connection, choice, RuntimeError("broken"))
assert points()[("ortsel.bans", "failed")] == 1
for result in ("equal", "different", "inconclusive", "skipped"):
    telemetry.checked(result)
    assert points()[("ortsel.shadow.checks", result)] == 1
assert points()[("ortsel.shadow.failures",)] == 1
telemetry.paired()
telemetry.regressed("demoted")
assert points()[("ortsel.watch.pairs",)] == 1
assert points()[("ortsel.regressions", "demoted")] == 1
names = {name for name, *_ in points()}
assert names == {one.name for one in telemetry.METRICS.values()}, names
print("counted")
"""

ABSENT_PROGRAM = """
import sys
sys.modules["opentelemetry"] = None
import ortsel
from ortsel import telemetry
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed

telemetry.checked("equal")
config = ortsel.SelectionConfig(mode="blocking", store=None, candidates=folding, budget_s=60.0)
session = ortsel.InferenceSession(sys.argv[1], unoptimized(), selection=config)
session.run(None, wasteful_feed())
print(session.explain().rows()[-1]["plan"])
"""


@pytest.mark.parametrize(
    ("program", "says"), [(METRICS_PROGRAM, "counted"), (ABSENT_PROGRAM, "folding")]
)
def test_metrics_are_counted_where_the_api_is_and_nothing_breaks_where_it_is_not(
    program: str, says: str, tmp_path: Path
) -> None:
    model = wasteful(tmp_path / "model.onnx")
    command = [sys.executable, "-W", "error", "-c", program, str(model)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == says + "\n", "and nothing else on standard output"


def test_importing_does_not_import_the_api() -> None:
    program = "import sys, ortsel; print('opentelemetry' in sys.modules)"
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, text=True, timeout=60) == "False\n"


def test_a_search_that_ended_is_one_record_with_fields(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    model = wasteful(tmp_path / "model.onnx")
    with caplog.at_level(logging.INFO, "ortsel"):
        session = ortsel.InferenceSession(model, unoptimized(), selection=CONFIG)
        session.run(None, wasteful_feed())
        told = len(caplog.records)
        for seed in range(20):
            session.run(None, wasteful_feed(seed))
    assert len(caplog.records) == told, "nothing for a request"
    [record] = [one for one in caplog.records if "ortsel_event" in one.__dict__]
    fields = record.__dict__
    assert record.name == "ortsel"
    assert fields["ortsel_event"] == "search-ended"
    assert (fields["ortsel_outcome"], fields["ortsel_plan"]) == ("promoted", "folding")
    assert fields["ortsel_candidates"] == 2
    assert fields["ortsel_elapsed_s"] > 0
    assert fields["ortsel_key"] == session.explain().rows()[-1]["key"]
    assert capsys.readouterr().out == ""


def test_a_warning_is_given_once_for_each_subject(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "ortsel"):
        for subject in ("one", "one", "another", "one"):
            telemetry.warn_once(subject, "store-unreadable", f"about {subject}", error="x")
    levels = [record.levelname for record in caplog.records]
    assert levels == ["WARNING", "DEBUG", "WARNING", "DEBUG"]
    assert caplog.records[0].getMessage() == "ortsel: about one"


def test_an_explanation_is_text_a_dict_and_rows(tmp_path: Path) -> None:
    session = ortsel.InferenceSession(
        wasteful(tmp_path / "model.onnx"), unoptimized(), selection=CONFIG
    )
    session.run(None, wasteful_feed())
    explanation = session.explain()
    everything = explanation.as_dict()
    assert set(everything) == {
        "not_tuned",
        "checks",
        "workloads",
        "candidates",
        "left_out",
        "operators",
        "states",
    }
    assert everything["workloads"] == explanation.rows()
    [row] = explanation.rows()
    assert set(row) >= {"workload", "plan", "source", "verified", "ratio", "reason", "key"}
    assert {type(cell) for cell in row.values()} <= {str, int, float, bool, type(None)}
    names = [tuple(one) for one in explanation.candidate_rows()]
    assert len(names) == 2
    assert len(set(names)) == 1, "each row has the same columns"
    assert str(row["plan"]) in str(explanation)
    checks = evolve(explanation.checks, equal=2)
    assert "2 equal" in str(evolve(explanation, checks=checks))
