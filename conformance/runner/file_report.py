"""A run for programs: JSON, JUnit XML, and the few members that a badge needs."""

from typing import Final
from xml.etree import ElementTree as ET

from conformance.protocol.fault import ConversationError
from conformance.protocol.message import Welcome
from conformance.runner.result import RED, CaseResult, Outcome, Run
from conformance.runner.text_report import result_lines, summary_line
from conformance.vectors.version import SPEC_VERSION
from spec.canonical_json import Json

REPORT_SCHEMA: Final = 1
_NOT_XML: Final = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}


def json_report(run: Run) -> dict[str, Json]:
    """Return everything, as JSON. `schema` goes up when a member changes its meaning."""
    return {
        "schema": REPORT_SCHEMA,
        "spec_version": SPEC_VERSION,
        "implementation": None if run.welcome is None else _implementation(run.welcome),
        "green": run.is_green,
        "red": list(run.red),
        "counts": {outcome.value: run.count(outcome) for outcome in Outcome},
        "elapsed_ms": round(run.elapsed_s * 1000),
        "goodbye": None if run.goodbye is None else _broken(run.goodbye),
        "broken_by_stage": {
            stage.value: dict(groups) for stage, groups in run.broken_by_stage().items()
        },
        "results": [_result(result) for result in run.results],
    }


def badge(run: Run) -> dict[str, Json]:
    """Return a summary in the form that badge services read from an address."""
    asked = len(run.results) - run.count(Outcome.NOT_APPLICABLE)
    passed = run.count(Outcome.PASSED)
    message = f"{passed} of {asked} vectors" if asked else "nothing run"
    known = run.count(Outcome.FAILED_AS_EXPECTED)
    colour = "red" if not run.is_green else "yellow" if known else "brightgreen"
    label = f"selection rules {SPEC_VERSION}"
    return {"schemaVersion": 1, "label": label, "message": message, "color": colour}


def junit_xml(run: Run) -> str:
    """Return the run as JUnit XML: one suite per area, one case per vector."""
    root = ET.Element("testsuites", name="conformance")
    areas = dict.fromkeys(result.area for result in run.results)
    for area in areas:
        results = [result for result in run.results if result.area == area]
        suite = ET.SubElement(root, "testsuite", name=area, tests=str(len(results)))
        suite.set("failures", str(_count(results, Outcome.FAILED, Outcome.UNEXPECTEDLY_PASSED)))
        suite.set("errors", str(_count(results, Outcome.COULD_NOT_RUN)))
        skipped = _count(results, Outcome.NOT_APPLICABLE, Outcome.FAILED_AS_EXPECTED)
        suite.set("skipped", str(skipped))
        for result in results:
            _case(suite, result)
    if run.goodbye is not None or not run.results or (run.red and not _has_red(run)):
        suite = ET.SubElement(root, "testsuite", name="run", tests="1", failures="0", errors="1")
        case = ET.SubElement(suite, "testcase", name="the run itself", classname="conformance.run")
        error = ET.SubElement(case, "error", message="; ".join(run.red) or "nothing was run")
        error.text = _xml_text(str(run.goodbye or summary_line(run)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, result: CaseResult) -> None:
    case = ET.SubElement(
        suite, "testcase", name=_xml_text(result.id), classname=f"conformance.{result.area}"
    )
    tags = {
        Outcome.FAILED: "failure",
        Outcome.UNEXPECTEDLY_PASSED: "failure",
        Outcome.COULD_NOT_RUN: "error",
        Outcome.NOT_APPLICABLE: "skipped",
        Outcome.FAILED_AS_EXPECTED: "skipped",
    }
    if result.outcome in tags:
        rules = ", ".join(result.rules)
        message = f"{result.outcome.value} ({rules}) {result.reason}".strip()
        inner = ET.SubElement(case, tags[result.outcome], message=_xml_text(message))
        if result.outcome in RED:
            inner.text = _xml_text("\n".join(result_lines(result)))


def _count(results: list[CaseResult], *outcomes: Outcome) -> int:
    return sum(result.outcome in outcomes for result in results)


def _has_red(run: Run) -> bool:
    return any(result.outcome in RED for result in run.results)


def _implementation(welcome: Welcome) -> Json:
    return {
        "name": welcome.name,
        "version": welcome.version,
        "language": welcome.language,
        "levels": [level.value for level in welcome.levels],
        "capabilities": [one.value for one in welcome.capabilities],
    }


def _result(result: CaseResult) -> Json:
    found, broken = result.disagreement, result.broken
    disagreement: Json = None
    if found is not None:
        disagreement = {
            "style": None if found.style is None else found.style.value,
            "step": found.step,
            "sent": found.sent,
            "expected": found.expected,
            "got": found.got,
        }
    return {
        "id": result.id,
        "rules": list(result.rules),
        "outcome": result.outcome.value,
        "reason": result.reason,
        "disagreement": disagreement,
        "broken": None if broken is None else _broken(broken),
        "repeat": result.repeat,
    }


def _broken(error: ConversationError) -> Json:
    return {
        "stage": error.stage.value,
        "rule": error.fault.value,
        "got": error.got,
        "need": error.need,
        "stderr": error.stderr,
    }


def _xml_text(text: str) -> str:
    """Return text without the characters that XML 1.0 can't hold."""
    safe = text.encode("utf-8", "replace").decode("utf-8")
    return safe.translate(_NOT_XML).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
