"""One option of an execution provider, as a fact with its source."""

from enum import Enum

from attrs import field, frozen

from spec.errors import InvalidValue


class OptionType(Enum):
    """What ONNX Runtime reads an option's text as."""

    BOOLEAN = "0 or 1"
    INTEGER = "an integer"
    BYTES = "a number of bytes"
    CHOICE = "one of a few words"
    TEXT = "text"
    PATH = "a path"
    SHAPES = "input shapes, such as x:1x128,y:2x3"
    POINTER = "an address in this process"


class Numerics(Enum):
    """Whether outputs can differ because of an option."""

    SAME = "same"
    MAYBE = "maybe"
    """Another algorithm may be taken, with another order of summation."""
    CHANGED = "changed"
    """Precision itself changes."""


class Owner(Enum):
    """Who may set an option."""

    TUNER = "tuner"
    """A plan may vary it where the user did not set it."""
    SERVING = "serving"
    """A plan may set it only for callers that bind fixed device buffers."""
    USER = "user"
    """Memory, streams, devices, libraries: never a plan's business."""


def _word(_: object, __: object, name: str) -> None:
    if not name.replace("_", "").isalnum() or name != name.lower():
        raise InvalidValue("provider_option.name", repr(name), "lower-case words", "catalogue")


@frozen
class ProviderOption:
    """An option that a provider really has."""

    name: str = field(validator=_word)
    type: OptionType
    default: str
    """As text; empty where the provider decides or there is none."""
    owner: Owner
    numerics: Numerics = Numerics.SAME
    effect: str = ""
    """What it does to speed or memory, and to numbers where that is not plain; empty if nothing."""
    choices: tuple[str, ...] = ()
    """The accepted words of a CHOICE, the default among them."""

    def __attrs_post_init__(self) -> None:
        is_choice = self.type is OptionType.CHOICE
        if is_choice != bool(self.choices) or (is_choice and self.default not in self.choices):
            need = "choices with the default among them for a CHOICE, none for other types"
            got = f"{self.name}: {self.type.name} with {self.choices}"
            raise InvalidValue("provider_option.choices", got, need, "catalogue")
        if self.type is OptionType.BOOLEAN and self.default not in {"0", "1"}:
            got = f"{self.name}={self.default!r}"
            raise InvalidValue("provider_option.default", got, "'0' or '1'", "catalogue")


@frozen
class OptionTable:
    """All known options of a provider."""

    provider: str
    """Name of the execution provider."""
    source: str
    options: tuple[ProviderOption, ...]

    def __attrs_post_init__(self) -> None:
        names = [option.name for option in self.options]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue("option_table.options", f"{twice} twice", "each once", "catalogue")

    def find(self, name: str) -> ProviderOption:
        """Return the option of this name. Raises `InvalidValue` for an unknown one."""
        for option in self.options:
            if option.name == name:
                return option
        need = f"an option of {self.provider}"
        raise InvalidValue("option", repr(name), need, "catalogue")

    def accepts(self, name: str, value: str) -> bool:
        """Whether the provider has such an option and can read this value."""
        option = self.find(name)
        match option.type:
            case OptionType.BOOLEAN:
                return value in {"0", "1"}
            case OptionType.CHOICE:
                return value in option.choices
            case OptionType.INTEGER | OptionType.BYTES:
                return value.removeprefix("-").isdecimal()
            case _:
                return bool(value)
