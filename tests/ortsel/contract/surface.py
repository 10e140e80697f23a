"""Two classes, member by member: what one has that the other has not, or takes otherwise."""

import inspect
import re
from collections.abc import Collection
from types import ModuleType
from typing import Any

NAMED_BY_ORDER = re.compile(r"arg\d+")


def public_members(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def differences(native: type, own: type, known: Collection[str]) -> list[str]:
    """Return one line for each public member that is new, missing, or that differs."""
    found: list[str] = []
    for name in public_members(native):
        member = f"{native.__name__}.{name}"
        if name not in known:
            found.append(f"{member} is new: decide how ortsel treats it, and name it in this test")
        if not hasattr(own, name):
            found.append(f"{member} is missing in ortsel")
            continue
        theirs, ours = (inspect.getattr_static(owner, name) for owner in (native, own))
        if callable(theirs) != callable(ours) or isinstance(theirs, property) != isinstance(
            ours, property
        ):
            found.append(f"{member} is a {type(theirs).__name__}, not a {type(ours).__name__}")
        elif callable(theirs):
            found.extend(f"{member} {line}" for line in parameter_differences(theirs, ours))
    return found


def parameter_differences(theirs: Any, ours: Any) -> list[str]:
    """Return how a call that one function takes would not be taken by the other."""
    if ours is theirs:
        return []
    try:
        native = inspect.signature(theirs).parameters
    except ValueError:
        return builtin_differences(theirs, ours)
    own = inspect.signature(ours).parameters
    if is_open(own):
        return []
    as_tuples = [
        [(item.name, item.kind, item.default) for item in parameters.values()]
        for parameters in (native, own)
    ]
    if as_tuples[0] == as_tuples[1]:
        return []
    return [f"takes {list(map(str, native.values()))}, ortsel's {list(map(str, own.values()))}"]


def builtin_differences(theirs: Any, ours: Any) -> list[str]:
    """Compare with the first line of a compiled function's documentation, all it says of itself."""
    head = (theirs.__doc__ or "").splitlines()[0]
    written = re.findall(r"[(,] ?(\w+):", head)[1:]
    own = inspect.signature(ours).parameters
    if is_open(own):
        return []
    names = list(own)[1:]
    if len(names) != len(written):
        return [f"takes {written}, ortsel's {names}"]
    return [
        f"takes {written}, ortsel's {names}"
        for name, mine in zip(written, names, strict=True)
        if not NAMED_BY_ORDER.fullmatch(name) and name != mine
    ]


def is_open(parameters: Any) -> bool:
    """Whether a function hands on whatever it is given."""
    kinds = {item.kind for item in parameters.values()}
    return {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds


def module_differences(
    native: ModuleType, own: ModuleType, own_names: Collection[str]
) -> list[str]:
    """Return one line for each public name that another object stands under, or none."""
    found = []
    for name in [name for name in dir(native) if not name.startswith("_")]:
        if not hasattr(own, name):
            found.append(f"{native.__name__}.{name} is missing in {own.__name__}")
        elif name not in own_names and getattr(own, name) is not getattr(native, name):
            found.append(f"{own.__name__}.{name} is not {native.__name__}'s")
    return found
