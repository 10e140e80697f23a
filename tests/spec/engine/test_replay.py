"""S13: the same events, the same result."""

import os
import subprocess
import sys
from pathlib import Path

from spec import FailureKind, Source, replay
from tests.spec.engine.scenario import Scenario, failure, problem

ROOT = Path(__file__).parents[3]
TRIAL = """
from tests.spec.engine.scenario import Scenario, problem
scenario = Scenario()
for name in "abcdefgh":
    scenario.decide(problem(name))
print([report.winner for report in scenario.state.reports], list(scenario.state.keys))
"""


def test_a_log_of_events_leads_to_an_equal_state() -> None:
    scenario = Scenario(run_failures={"slow": failure(FailureKind.TRANSIENT, "timeout")})
    for name in ("a", "b", "a", "c"):
        scenario.decide(problem(name))
    assert replay(scenario.policy, scenario.log) == scenario.state


def test_a_log_that_differs_leads_to_another_state() -> None:
    scenario = Scenario()
    scenario.decide()
    assert replay(scenario.policy, scenario.log[:-1]) != scenario.state


def test_a_state_is_a_value_that_later_steps_leave_alone() -> None:
    scenario = Scenario()
    scenario.decide(problem("a"))
    kept, log = scenario.state, list(scenario.log)
    scenario.decide(problem("b"))
    assert kept == replay(scenario.policy, log)
    assert kept != scenario.state


def test_nothing_depends_on_the_hash_seed_of_the_process() -> None:
    outputs = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", TRIAL],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert "fast" in outputs.pop()


def test_counters_add_up_over_a_mixed_history() -> None:
    scenario = Scenario()
    for name in ("a", "b", "a"):
        scenario.decide(problem(name))
    scenario.decide(problem("c"), nested=True)
    scenario.ask(problem("d"), ())
    open_request = scenario.begin(problem("e"))
    assert scenario.decide(problem("f")).source is Source.BUSY
    statistics = scenario.state.statistics
    assert open_request in scenario.outstanding
    assert statistics.requests == 7
    assert statistics.requests == statistics.answers + 1
    assert (statistics.tuned, statistics.memory_hits, statistics.nested) == (2, 1, 1)
    assert (statistics.invalid, statistics.busy, statistics.saved) == (1, 1, 2)
