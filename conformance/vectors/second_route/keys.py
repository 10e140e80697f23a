"""Canonical JSON by the standard library's own writer, hashed by `hashlib`."""

import hashlib
import json

from conformance.vectors.second_route.plain import Odd, Plain, items, member, text, whole

MOST_LEVELS = 64


def canonical_json(asked: Plain) -> Plain:
    """Parse, refuse what has no canonical form, write."""
    try:
        value: Plain = json.loads(
            text(member(asked, "text")), parse_float=_refused, parse_constant=_refused
        )
    except (ValueError, RecursionError) as error:
        raise Odd("not JSON") from error
    return hashed(written(value))


def hashed(canonical: str) -> Plain:
    """Return a text and its SHA-256."""
    return {
        "canonical": canonical,
        "digest": hashlib.sha256(canonical.encode()).hexdigest(),
    }


def written(value: Plain, level: int = 0) -> str:
    """Return the canonical text."""
    if level > MOST_LEVELS:
        raise Odd("depth")
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53:
        raise Odd("size")
    if isinstance(value, dict):
        # UTF-16 order: the names as lists of 16-bit units.
        names = sorted(value, key=lambda name: list(memoryview(_units(name)).cast("H")))
        members = [f"{_string(name)}:{written(value[name], level + 1)}" for name in names]
        return "{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(written(one, level + 1) for one in value) + "]"
    return json.dumps(value)


def cache_key(asked: Plain) -> Plain:
    """The named parts of a request, written and hashed."""
    problem, policy = member(asked, "problem"), member(asked, "policy")
    names = [text(member(one, "name")) for one in items(member(asked, "candidates"))]
    parts: dict[str, Plain] = {
        name: member(problem, name)
        for name in (
            "operation",
            "workload",
            "environment",
            "model",
            "options",
            "lower_level",
            "scope",
        )
    }
    parts["schema"] = 1
    parts["candidates"] = sorted(names)
    parts["reference"] = names[whole(member(asked, "reference"))]
    evidence = member(policy, "evidence")
    if not isinstance(evidence, dict):
        raise Odd("evidence")
    rule = {name: one for name, one in evidence.items() if name != "type"}
    parts["policy"] = {
        "evidence": {**rule, "rule": evidence["type"]},
        "min_speedup": member(policy, "min_speedup"),
        "require_validation": member(policy, "require_validation"),
        "reuse": member(policy, "reuse"),
        "tolerance": member(policy, "tolerance"),
    }
    # Each part is written by itself, so that its depth is counted from its own root.
    return hashed(
        "{" + ",".join(f'"{name}":{written(parts[name])}' for name in sorted(parts)) + "}"
    )


def fingerprint(served: list[tuple[str, str]]) -> str:
    """Return the fingerprint of keys and the names of the plans served."""
    rows = ",".join(f"[{_string(key)},{_string(name)}]" for key, name in sorted(served))
    return hashlib.sha256(f"[{rows}]".encode()).hexdigest()


def _string(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Odd("half a character") from error
    return json.dumps(value, ensure_ascii=False)


def _units(name: str) -> bytes:
    try:
        return name.encode("utf-16-le")
    except UnicodeEncodeError as error:
        raise Odd("half a character") from error


def _refused(_: str) -> Plain:
    raise Odd("a floating-point number")
