"""YAML as nodes that know where they stand; nothing is constructed by its tag."""

from collections.abc import Callable
from typing import Final

import yaml

from ortsel.builder.spec_errors import BuildSpecError, SpecProblem

MOST_BYTES: Final = 1 << 20
MOST_NODES: Final = 50_000
DEEPEST: Final = 16
_DIGITS: Final = 16
_SHOWN: Final = 60


def compose(data: bytes, source: str) -> yaml.Node:
    """Return the root of the one document in a text. Raises `BuildSpecError`."""

    def fail(line: int, got: str, need: str) -> BuildSpecError:
        return BuildSpecError(source, (SpecProblem(line, "", got, need),))

    if len(data) > MOST_BYTES:
        raise fail(0, f"more than {MOST_BYTES} bytes", "a smaller file")
    try:
        root = yaml.compose(data, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        got = cut(" ".join(part for part in (error.context, error.problem) if part))
        raise fail(0 if mark is None else mark.line + 1, got, "a YAML document") from error
    except (yaml.YAMLError, RecursionError) as error:
        got = "deep nesting" if isinstance(error, RecursionError) else cut(str(error))
        raise fail(0, got, "a YAML document") from error
    if root is None:
        raise fail(1, "an empty document", "models: and what to build of them")
    _check_extent(root, fail)
    return root


def _check_extent(root: yaml.Node, fail: Callable[[int, str, str], BuildSpecError]) -> None:
    """Refuse what aliases blow up, before anything walks through it."""
    waiting = [(root, 1)]
    seen = 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > MOST_NODES:
            raise fail(line_of(node), f"more than {MOST_NODES} values", "fewer (see aliases)")
        if depth > DEEPEST:
            raise fail(line_of(node), f"more than {DEEPEST} levels", "fewer (see aliases)")
        if isinstance(node, yaml.MappingNode):
            waiting.extend((part, depth + 1) for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend((part, depth + 1) for part in node.value)


def line_of(node: yaml.Node) -> int:
    """Return the line on which a node begins, counted from 1."""
    return int(node.start_mark.line) + 1


def integer_of(node: yaml.Node) -> int | None:
    """Return a decimal number without sign; None for anything else, quoted numbers included."""
    if not isinstance(node, yaml.ScalarNode) or node.style in {"'", '"'}:
        return None
    text = str(node.value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def shown(node: yaml.Node) -> str:
    """Return what stands there, as one would write it."""
    if isinstance(node, yaml.ScalarNode):
        return repr(cut(str(node.value))) if node.value else "nothing"
    if isinstance(node, yaml.SequenceNode):
        return f"[{cut(', '.join(shown(item) for item in node.value[:8]))}]"
    if isinstance(node, yaml.MappingNode):
        pairs = (f"{shown(key)}: {shown(value)}" for key, value in node.value[:8])
        return f"{{{cut(', '.join(pairs))}}}"
    return str(node.tag)


def cut(text: str) -> str:
    """Return a text on one line, and no longer than a message can bear."""
    joined = " ".join(text.split())
    return joined if len(joined) <= _SHOWN else f"{joined[: _SHOWN - 3]}..."
