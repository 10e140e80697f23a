"""The selection of a process, for sessions that are given none: environment variables.

| variable | stands for | value |
| --- | --- | --- |
| `ORTSEL_MODE` | `mode` | its word; `disabled` also wins over a configuration in the code |
| `ORTSEL_STORE` | `store` | a path, `default`, or `:memory:` for no file |
| `ORTSEL_BUDGET_S` | `budget_s` | seconds |
| `ORTSEL_MAX_SHAPES` | `max_shapes` | a number of shapes |

A variable that is empty or not set leaves the default. What `ortsel.install(selection)` was given
is asked before them.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import evolve

from ortsel.errors import UsageError
from ortsel.selection_config import SelectionConfig, SelectionMode

MODE: Final = "ORTSEL_MODE"
STORE: Final = "ORTSEL_STORE"
BUDGET_S: Final = "ORTSEL_BUDGET_S"
MAX_SHAPES: Final = "ORTSEL_MAX_SHAPES"
IN_MEMORY: Final = ":memory:"

_installed: list[SelectionConfig] = []


def selection_from(environment: Mapping[str, str]) -> SelectionConfig:
    """Return the configuration that an environment's variables stand for.

    Raises `UsageError`, which names the variable, for a value that it cannot have.
    """
    given: dict[str, Any] = {}
    for variable, (field, read) in _VARIABLES.items():
        if text := environment.get(variable, "").strip():
            given[field] = read(variable, text)
    try:
        return SelectionConfig(**given)
    except UsageError as error:
        variable = next(name for name, (field, _) in _VARIABLES.items() if field == error.field)
        raise UsageError(variable, repr(environment[variable]), error.need) from error


def process_selection() -> SelectionConfig:
    """Return what a session without a configuration of its own selects by."""
    return _installed[0] if _installed else selection_from(os.environ)


def unless_switched_off(config: SelectionConfig) -> SelectionConfig:
    """Return a configuration, disabled where the environment says so: an operator has that word."""
    word = os.environ.get(MODE, "").strip()
    if word != SelectionMode.DISABLED.value or config.mode is SelectionMode.DISABLED:
        return config
    return evolve(config, mode=SelectionMode.DISABLED)


def set_process_selection(config: SelectionConfig | None) -> None:
    """Have sessions without a configuration of their own select by this; None: the environment."""
    _installed[:] = [] if config is None else [config]


def _word(_: str, text: str) -> str:
    return text


def _place(_: str, text: str) -> str | None:
    return None if text == IN_MEMORY else text


def _seconds(variable: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(variable, repr(text), "a number of seconds") from error


def _count(variable: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(variable, repr(text), "an integer") from error


_VARIABLES: Final[dict[str, tuple[str, Callable[[str, str], Any]]]] = {
    MODE: ("mode", _word),
    STORE: ("store", _place),
    BUDGET_S: ("budget_s", _seconds),
    MAX_SHAPES: ("max_shapes", _count),
}
