"""Reading a spec from YAML: no value is constructed by its tag, and every problem has its line.

The document is composed into nodes, which know where they stand, and read from there. Nothing of
YAML's own types is trusted but text: `1:30` is no number here, and `no` may be a dimension's name.
"""

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from attrs import define, evolve, field

from ortsel.builder.build_spec import BuildSpec, ModelSpec, Settings, ShapeChoice
from ortsel.builder.families import BY_NAME
from ortsel.builder.progression import ELLIPSIS, ProgressionError, expand
from ortsel.builder.spec_errors import BuildSpecError, SpecProblem
from ortsel.builder.tolerances import METRICS, NEED, WORDS, tolerance_of
from ortsel.builder.yaml_nodes import MOST_BYTES, compose, cut, integer_of, line_of, shown
from ortsel.cli.durations import parse_duration
from ortsel.cli.feeds import parse_fill
from ortsel.cli.shapes import MAX_SIZE, parse_shape
from ortsel.cli.speedups import parse_speedup
from ortsel.errors import UsageError
from ortsel.load import BACK_TO_BACK, MOST_GAP_MS
from ortsel.plan import Provider

_Value = TypeVar("_Value")

_SETTINGS: Final = (
    "budget",
    "bound",
    "candidates",
    "ep_context",
    "load",
    "min_speedup",
    "providers",
    "seed",
    "threads",
    "tolerance",
)
_TOP: Final = ("models", "output", *_SETTINGS)
_MODEL: Final = ("path", "shapes", "feeds", "fill", *_SETTINGS)


def read_spec(path: Path) -> BuildSpec:
    """Return the spec in a YAML file. Relative paths in it are relative to the file's folder.

    Raises `BuildSpecError` with every problem that can be seen without loading a model.
    """
    source = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BuildSpecError(source, (SpecProblem(0, "", reason, "a YAML file"),)) from error
    return parse_spec(data, path.absolute().parent, source)


def spec_of_mapping(values: Mapping[str, Any], folder: Path | None = None) -> BuildSpec:
    """Return the spec that plain values stand for, as the same names in YAML would.

    Relative paths are relative to `folder`, by default the current one. Raises `BuildSpecError`.
    """
    try:
        text = yaml.safe_dump(dict(values), sort_keys=False, default_flow_style=None)
    except yaml.YAMLError as error:
        got = cut(str(error))
        need = "text, numbers, lists and dictionaries"
        raise BuildSpecError("spec", (SpecProblem(0, "", got, need),)) from error
    try:
        return parse_spec(text.encode(), (folder or Path.cwd()).absolute(), "spec")
    except BuildSpecError as error:
        problems = tuple(evolve(problem, line=0) for problem in error.problems)
        raise BuildSpecError("spec", problems) from error


def parse_spec(data: bytes, folder: Path, source: str) -> BuildSpec:
    """Return the spec that a YAML text stands for. Raises `BuildSpecError`."""
    root = compose(data, source)
    reader = _Reader(folder, source)
    spec = reader.spec(root)
    if reader.problems or spec is None:
        ordered = sorted(reader.problems, key=lambda problem: problem.line)
        raise BuildSpecError(source, tuple(ordered))
    return spec


@define
class _Reader:
    """Turns nodes into values, and notes every problem on the way."""

    folder: Path
    source: str
    problems: list[SpecProblem] = field(factory=list)

    def wrong(self, node: yaml.Node, place: str, got: str, need: str) -> None:
        self.problems.append(SpecProblem(line_of(node), place, got, need))

    def spec(self, root: yaml.Node) -> BuildSpec | None:
        members = self.members(root, "", _TOP)
        if members is None:
            return None
        settings = self.settings(members, "", Settings())
        models: list[ModelSpec | None] = []
        listed = members.get("models")
        if listed is None:
            self.wrong(root, "models", "nothing", "a list of models")
        elif not isinstance(listed, yaml.SequenceNode) or not listed.value:
            self.wrong(listed, "models", shown(listed), "a list with at least one model")
        else:
            models = [
                self.model(node, f"models[{at}]", settings) for at, node in enumerate(listed.value)
            ]
        output = self.path(members.get("output"), "output")
        total_s = self.total_budget(members.get("budget"), settings.budget_s)
        return BuildSpec(
            tuple(model for model in models if model is not None),
            output or self.folder / f"{Path(self.source).stem}.decisions",
            self.source,
            total_s,
        )

    def model(self, node: yaml.Node, place: str, inherited: Settings) -> ModelSpec | None:
        members = self.members(node, place, _MODEL)
        if members is None:
            return None
        settings = self.settings(members, f"{place}.", inherited)
        path = self.path(members.get("path"), f"{place}.path")
        if "path" not in members:
            self.wrong(node, f"{place}.path", "nothing", "the path of a model")
        feeds = self.path(members.get("feeds"), f"{place}.feeds")
        for other in ("shapes", "fill"):
            if "feeds" in members and other in members:
                need = "either feeds (samples) or shapes and fill (made-up inputs)"
                self.wrong(members[other], f"{place}.{other}", f"{other} beside feeds", need)
        shapes = self.shapes(members.get("shapes"), f"{place}.shapes")
        fills = self.fills(members.get("fill"), f"{place}.fill")
        if path is None:
            return None
        name = str(members["path"].value)
        return ModelSpec(path, name, settings, shapes, fills, feeds, line_of(node), place)

    def members(
        self, node: yaml.Node, place: str, known: tuple[str, ...] = ()
    ) -> dict[str, yaml.Node] | None:
        """Return a mapping's members by name; unknown names, where some are known, are problems."""
        if not isinstance(node, yaml.MappingNode):
            need = "a mapping" + (f" with some of {', '.join(known)}" if known else "")
            self.wrong(node, place, shown(node), need)
            return None
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            where = f"{place}.{cut(name)}" if place else cut(name)
            if not name:
                self.wrong(key, place, shown(key), "a name")
            elif name in found:
                self.wrong(key, where, f"{cut(name)!r} twice", "each name once")
            elif known and name not in known:
                close = difflib.get_close_matches(name, known, 1)
                need = f"{close[0]} (or {', '.join(known)})" if close else ", ".join(known)
                self.wrong(key, where, f"the unknown name {cut(name)!r}", need)
            else:
                found[name] = value
        return found

    def settings(
        self, members: Mapping[str, yaml.Node], prefix: str, inherited: Settings
    ) -> Settings:
        changes: dict[str, Any] = {}

        def take(name: str, target: str, read: Callable[[yaml.Node, str], object]) -> None:
            if name in members and (value := read(members[name], f"{prefix}{name}")) is not None:
                changes[target] = value

        take("budget", "budget_s", self.workload_budget if prefix else self.first_budget)
        take("bound", "bound", self.truth)
        take("candidates", "families", self.families)
        take("ep_context", "ep_context", self.truth)
        take("min_speedup", "min_speedup", self.speedup)
        take("providers", "providers", self.providers)
        take("seed", "seed", lambda node, place: self.integer(node, place, 0, 2**53 - 1))
        take("threads", "threads", lambda node, place: self.integer(node, place, 1, 4096))
        take("load", "gap_ms", self.load)
        take("tolerance", "tolerance", self.tolerance)
        return evolve(inherited, **changes)

    def text(self, node: yaml.Node, place: str, need: str) -> str | None:
        if isinstance(node, yaml.ScalarNode) and node.value and "\0" not in node.value:
            return str(node.value)
        self.wrong(node, place, shown(node), need)
        return None

    def path(self, node: yaml.Node | None, place: str) -> Path | None:
        text = None if node is None else self.text(node, place, "a path")
        return None if text is None else self.folder / Path(text).expanduser()

    def truth(self, node: yaml.Node, place: str) -> bool | None:
        if isinstance(node, yaml.ScalarNode) and node.value in {"true", "false"}:
            return bool(node.value == "true")
        self.wrong(node, place, shown(node), "true or false")
        return None

    def integer(self, node: yaml.Node, place: str, low: int, high: int) -> int | None:
        value = integer_of(node)
        if value is not None and low <= value <= high:
            return value
        self.wrong(node, place, shown(node), f"an integer from {low} to {high}")
        return None

    def parsed(
        self, node: yaml.Node, place: str, parse: Callable[[str], _Value], need: str
    ) -> _Value | None:
        if isinstance(node, yaml.ScalarNode):
            try:
                return parse(str(node.value))
            except ValueError:
                pass
        self.wrong(node, place, shown(node), need)
        return None

    def duration(self, node: yaml.Node, place: str) -> float | None:
        return self.parsed(node, place, parse_duration, "a time such as 30s, 2m or 1h30m")

    def workload_budget(self, node: yaml.Node, place: str) -> float | None:
        return self.duration(node, place)

    def first_budget(self, node: yaml.Node, place: str) -> float | None:
        if not isinstance(node, yaml.MappingNode):
            return self.duration(node, place)
        members = self.members(node, place, ("workload", "total")) or {}
        one = members.get("workload")
        return None if one is None else self.duration(one, f"{place}.workload")

    def total_budget(self, node: yaml.Node | None, workload_s: float) -> float | None:
        if not isinstance(node, yaml.MappingNode):
            return None
        total = next((value for key, value in node.value if key.value == "total"), None)
        if total is None:
            return None
        seconds = self.duration(total, "budget.total")
        if seconds is not None and seconds < workload_s:
            need = f"at least the {workload_s:g} s that one workload may take"
            self.wrong(total, "budget.total", shown(total), need)
        return seconds

    def speedup(self, node: yaml.Node, place: str) -> object:
        return self.parsed(node, place, parse_speedup, "a number from 1 to 1000, such as 1.03")

    def load(self, node: yaml.Node, place: str) -> int | None:
        if isinstance(node, yaml.ScalarNode) and node.value == BACK_TO_BACK:
            return 0
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, place, shown(node), f"{BACK_TO_BACK}, or gap_ms with a number")
            return None
        members = self.members(node, place, ("gap_ms",)) or {}
        if "gap_ms" in members:
            return self.integer(members["gap_ms"], f"{place}.gap_ms", 1, MOST_GAP_MS)
        if not node.value:  # other names are problems already
            self.wrong(node, place, shown(node), "gap_ms with a number")
        return None

    def tolerance(self, node: yaml.Node, place: str) -> str | None:
        if isinstance(node, yaml.ScalarNode):
            if node.value in WORDS:
                return str(node.value)
            self.wrong(node, place, shown(node), NEED)
            return None
        if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
            self.wrong(node, place, shown(node), NEED)
            return None
        members = self.members(node, place, METRICS) or {}
        for name, value in members.items():
            text = f"{name}={value.value}" if isinstance(value, yaml.ScalarNode) else name
            try:
                tolerance_of(text)
            except UsageError:
                self.wrong(value, f"{place}.{name}", shown(value), "a number from 0 to 1")
            else:
                return text
        return None

    def families(self, node: yaml.Node, place: str) -> tuple[str, ...] | None:
        if isinstance(node, yaml.ScalarNode) and node.value == "all":
            return ()
        need = f"all, or a list of {', '.join(BY_NAME)}"
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.wrong(node, place, shown(node), need)
            return None
        names: list[str] = []
        for at, item in enumerate(node.value):
            name = str(item.value) if isinstance(item, yaml.ScalarNode) else ""
            if name in BY_NAME:
                names.append(name)
                continue
            close = difflib.get_close_matches(name, BY_NAME, 1)
            hint = f"{close[0]} (or {', '.join(BY_NAME)})" if close else ", ".join(BY_NAME)
            self.wrong(item, f"{place}[{at}]", shown(item), f"one of: {hint}")
        return tuple(name for name in BY_NAME if name in names)

    def providers(self, node: yaml.Node, place: str) -> tuple[Provider, ...] | None:
        need = "a list of provider names, or of mappings with name and options"
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.wrong(node, place, shown(node), need)
            return None
        found = [self.provider(item, f"{place}[{at}]") for at, item in enumerate(node.value)]
        names = [one.name for one in found if one is not None]
        if len(set(names)) != len(names):
            self.wrong(node, place, ", ".join(names), "each provider once")
        return tuple(one for one in found if one is not None)

    def provider(self, node: yaml.Node, place: str) -> Provider | None:
        if isinstance(node, yaml.ScalarNode):
            name = self.text(node, place, "a provider's name")
            return None if name is None else Provider(name)
        members = self.members(node, place, ("name", "options"))
        if members is None:
            return None
        if "name" not in members:
            self.wrong(node, f"{place}.name", "nothing", "a provider's name")
            return None
        name = self.text(members["name"], f"{place}.name", "a provider's name")
        given = members.get("options")
        options = {} if given is None else self.members(given, f"{place}.options") or {}
        texts: list[tuple[str, str]] = []
        for option, value in options.items():
            if isinstance(value, yaml.ScalarNode):
                texts.append((option, str(value.value)))
            else:
                self.wrong(value, f"{place}.options.{option}", shown(value), "one value")
        return None if name is None else Provider(name, tuple(texts))

    def shapes(self, node: yaml.Node | None, place: str) -> tuple[ShapeChoice, ...]:
        members = {} if node is None else self.members(node, place) or {}
        choices: list[ShapeChoice] = []
        for name, value in members.items():
            where = f"{place}.{cut(name)}"
            sizes = self.sizes(value, where)
            if sizes:
                choices.append(ShapeChoice(name, sizes, line_of(value), where))
        return tuple(choices)

    def sizes(self, node: yaml.Node, place: str) -> tuple[tuple[int, ...], ...]:
        if not isinstance(node, yaml.SequenceNode):
            shape = self.shape(node, place)
            return () if shape is None else (shape,)
        if not node.value:
            self.wrong(node, place, "[]", "at least one size")
            return ()
        scalars = [item for item in node.value if isinstance(item, yaml.ScalarNode)]
        if not any(item.value == ELLIPSIS for item in scalars):
            shapes = [self.shape(item, f"{place}[{at}]") for at, item in enumerate(node.value)]
            return tuple(dict.fromkeys(shape for shape in shapes if shape is not None))
        items: list[int | str] = []
        for at, item in enumerate(node.value):
            number = integer_of(item)
            if number is not None and number <= MAX_SIZE:
                items.append(number)
            elif isinstance(item, yaml.ScalarNode) and item.value == ELLIPSIS:
                items.append(ELLIPSIS)
            else:
                need = f"a size of at most {MAX_SIZE}, since the list has an ellipsis"
                self.wrong(item, f"{place}[{at}]", shown(item), need)
        if len(items) != len(node.value):
            return ()
        try:
            return tuple((size,) for size in expand(items))
        except ProgressionError as error:
            self.wrong(node, place, error.got, error.need)
            return ()

    def shape(self, node: yaml.Node, place: str) -> tuple[int, ...] | None:
        """Return one size, or a whole shape: 8, 1x128, [1, 128], or nothing for a scalar."""
        need = f"a size of at most {MAX_SIZE}, or a shape such as 1x128"
        if isinstance(node, yaml.SequenceNode):
            sizes = [integer_of(item) for item in node.value]
            whole = tuple(size for size in sizes if size is not None and size <= MAX_SIZE)
            if len(whole) == len(sizes):
                return whole
        elif isinstance(node, yaml.ScalarNode):
            try:
                return parse_shape(f"n={node.value}").sizes
            except UsageError:
                pass
        self.wrong(node, place, shown(node), need)
        return None

    def fills(self, node: yaml.Node | None, place: str) -> tuple[tuple[str, str], ...]:
        members = {} if node is None else self.members(node, place) or {}
        found: list[tuple[str, str]] = []
        for name, value in members.items():
            text = self.text(value, f"{place}.{cut(name)}", "one value")
            if text is not None:
                found.append(parse_fill(f"{name}={text}"))
        return tuple(found)
