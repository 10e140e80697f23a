"""One way to run a model with ONNX Runtime, as a value.

A plan is complete: the same plan, model and machine build the same session in any process. That is
why a trial in a child process says something about the session that will serve.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias, TypeVar

from attrs import evolve, field, frozen

from ortsel.providers.plugin import PluginDevice, PluginLibrary
from spec.canonical_json import Json

Attribute: TypeAlias = bool | int | str
Shapes: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Exact shapes of inputs by name, sorted."""

VARIANT_SCHEMA: Final = 2
"""Raised when a graph variant of the same name is built in another way: decisions and files that
rest on how it was built before are then not used."""


_Value = TypeVar("_Value", bound=Attribute)


def _sorted_pairs(pairs: Iterable[tuple[str, _Value]]) -> tuple[tuple[str, _Value], ...]:
    return tuple(sorted(dict(pairs).items()))


def sorted_shapes(shapes: Iterable[tuple[str, Iterable[int]]]) -> Shapes:
    """Return shapes as a value: by name, sorted, sizes as plain integers."""
    return tuple(sorted((name, tuple(int(size) for size in sizes)) for name, sizes in shapes))


def _sorted_texts(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return _sorted_pairs(pairs)


def _sorted_sizes(pairs: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return _sorted_pairs(pairs)


def _sorted_attributes(pairs: Iterable[tuple[str, Attribute]]) -> tuple[tuple[str, Attribute], ...]:
    return _sorted_pairs(pairs)


@frozen
class Provider:
    """An execution provider with its options, all as strings, as ONNX Runtime takes them."""

    name: str
    options: tuple[tuple[str, str], ...] = field(default=(), converter=_sorted_texts)
    library: PluginLibrary | None = None
    """Where a provider that ONNX Runtime does not bring along comes from; None is its own."""
    device: PluginDevice | None = None
    """The one device to run on; None leaves it to the provider."""

    def parts(self) -> Json:
        """Return the provider as named parts of a key."""
        parts: list[Json] = [self.name, dict(self.options)]
        if self.library is not None:
            device = None if self.device is None else self.device.parts()
            parts.append({"device": device, "library": self.library.parts()})
        return parts


@frozen
class SessionSettings:
    """What `onnxruntime.SessionOptions` holds, as a value."""

    attributes: tuple[tuple[str, Attribute], ...] = field(default=(), converter=_sorted_attributes)
    """Plain attributes that differ from ONNX Runtime's defaults; enumerations by their number."""
    config: tuple[tuple[str, str], ...] = field(default=(), converter=_sorted_texts)
    """Session configuration entries."""
    free_dimensions: tuple[tuple[str, int], ...] = field(default=(), converter=_sorted_sizes)
    """Free-dimension overrides by name."""
    free_denotations: tuple[tuple[str, int], ...] = field(default=(), converter=_sorted_sizes)
    """Free-dimension overrides by denotation."""
    custom_op_libraries: tuple[str, ...] = ()
    """Paths of custom operator libraries, in order of registration."""

    def attribute(self, name: str, default: Attribute) -> Attribute:
        """Return the value of a plain attribute, or the default when it was not set."""
        return dict(self.attributes).get(name, default)

    def with_attribute(self, name: str, value: Attribute) -> "SessionSettings":
        """Return a copy in which one plain attribute has another value."""
        return evolve(self, attributes=tuple((dict(self.attributes) | {name: value}).items()))

    def with_config(self, name: str, value: str) -> "SessionSettings":
        """Return a copy in which one configuration entry has another value."""
        return evolve(self, config=tuple((dict(self.config) | {name: value}).items()))


@frozen
class Plan:
    """Providers, session settings and graph variant under a stable name."""

    name: str
    """Identity across processes and versions: equal names mean equal plans for the same model."""
    providers: tuple[Provider, ...] | None = None
    """In order of precedence; None is what ONNX Runtime does when nobody names one."""
    settings: SessionSettings = SessionSettings()
    variant: str = ""
    """Graph variant that is built from the model first; empty is the model as it is."""
    disabled_optimizers: tuple[str, ...] = ()
    notes: str = field(default="", eq=False)
    """What is different about it, for people."""
    shapes: Shapes = field(default=(), converter=sorted_shapes)
    """The exact shapes of all inputs that it is made for; it is offered to, and serves, calls of
    these alone. Empty is any."""
    fixed_addresses: bool = False
    """Whether its session reads and writes buffers of its own at each call, at addresses that never
    change, as a captured graph needs. Such a plan has `shapes`."""

    def parts(self) -> Json:
        """The plan as named parts of a key."""
        bound: dict[str, Json] = {}
        if self.shapes:
            bound["shapes"] = {name: list(sizes) for name, sizes in self.shapes}
        if self.fixed_addresses:
            bound["fixed_addresses"] = True
        return bound | {
            "disabled_optimizers": sorted(self.disabled_optimizers),
            "providers": None
            if self.providers is None
            else [provider.parts() for provider in self.providers],
            "settings": {
                "attributes": dict(self.settings.attributes),
                "config": dict(self.settings.config),
                "custom_op_libraries": list(self.settings.custom_op_libraries),
                "free_denotations": dict(self.settings.free_denotations),
                "free_dimensions": dict(self.settings.free_dimensions),
            },
            "variant": self.variant,
            "variant_schema": VARIANT_SCHEMA,
        }
