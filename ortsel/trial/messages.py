"""What a rig asks of its child, and what the child answers."""

from functools import cache
from typing import TypeAlias

import cattrs
from attrs import frozen
from cattrs.strategies import configure_tagged_union

from ortsel.plan import Plan
from ortsel.trial.calling import Calling, WayOfCalling
from ortsel.trial.devices import BoundDevices


@frozen
class Load:
    """Build the session of one plan. Answered by `Loaded`."""

    plan: Plan
    model: str
    """Path of the model, or of the variant's file where it was built before."""
    verify_providers: bool
    """Whether the providers of the plan must be in the session and take nodes (E8). Not so for the
    reference: that is whatever ONNX Runtime makes of the user's arguments."""
    variant_target: str
    """Where the child writes the variant that it builds first; empty builds none."""
    calling: WayOfCalling
    output_names: tuple[str, ...] | None
    """None asks for all outputs."""
    feeds: tuple[str, ...]
    """Value files, in the order by which later commands name them."""


@frozen
class RunOnce:
    """Run once and write the outputs. Answered by `Ran`, without parking."""

    feed: int
    target: str


@frozen
class MeasureCalls:
    """Time some calls, feeds in turn. Answered by `Timed`, without parking."""

    calls: int
    feeds: int
    """The first so many feeds are used."""
    wake_ns: int
    most_ns: int
    gap_ns: int = 0
    """Asleep before each timed call; only the calls are timed."""


@frozen
class Park:
    """Wait until the threads that earlier calls have woken sleep. Answered by `Parked`."""


@frozen
class Quit:
    """End. Not answered."""


Command: TypeAlias = Load | RunOnce | MeasureCalls | Park | Quit


@frozen
class Envelope:
    """A command with what holds for all of them."""

    command: Command
    alarm_s: int
    """The child ends itself after that long, should its parent not be there any more to do it."""
    park_most_ns: int


@frozen
class Hello:
    """First message of a child."""

    pid: int
    onnxruntime_version: str
    onnxruntime_file: str
    ortsel_file: str
    may_be_stopped: bool = False
    """Whether it is woken when its parent ends, so that the parent may stop it while it waits."""


@frozen
class Loaded:
    """The session is there and, where that was asked for, is what the plan says."""

    providers: tuple[str, ...]
    nodes_by_provider: dict[str, int] | None
    output_names: tuple[str, ...]
    variant_ns: int
    creation_ns: int
    peak_resident_bytes: int


@frozen
class Ran:
    """Outputs are in the target file, by name in the session's order."""

    latency_ns: int
    peak_resident_bytes: int


@frozen
class Parked:
    """How long the threads took to stop, and whether they did."""

    park_ns: int
    parked: bool
    peak_resident_bytes: int


@frozen
class Timed:
    """What one measurement took."""

    calls: int
    total_ns: int
    """Of the timed calls alone."""
    span_ns: int
    """From begin to end, gaps included; processor time and switches are over this."""
    cpu_ns: int
    """Processor time of all threads of the child."""
    switches_voluntary: int
    switches_involuntary: int
    """Context switches; 0 where the system does not count them."""
    peak_resident_bytes: int

    @property
    def latency_ns(self) -> int:
        """Mean time of one call, rounded to nanoseconds."""
        return (2 * self.total_ns + self.calls) // (2 * self.calls)


@frozen
class Failed:
    """The command raised."""

    stage: str
    """"variant", "build", "feeds" or "run"."""
    error: str
    """Name of the exception's class."""
    text: str


Reply: TypeAlias = Hello | Loaded | Ran | Parked | Timed | Failed


def _way(value: object, _: object) -> WayOfCalling:
    if isinstance(value, str):
        return Calling(value)
    return _converter().structure(value, BoundDevices)


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(bool | int | str, lambda value, _: value)
    converter.register_structure_hook(WayOfCalling, _way)
    configure_tagged_union(Command, converter, tag_name="command")
    configure_tagged_union(Reply, converter, tag_name="reply")
    return converter


def envelope_to_json(envelope: Envelope) -> object:
    """Return the message as plain JSON values."""
    plain: object = _converter().unstructure(envelope)
    return plain


def envelope_from_json(message: object) -> Envelope:
    """Return the command. Raises `cattrs.BaseValidationError` when it is none."""
    return _converter().structure(message, Envelope)


def reply_to_json(reply: Reply) -> object:
    """Return the message as plain JSON values."""
    plain: object = _converter().unstructure(reply, Reply)
    return plain


def reply_from_json(message: object) -> Reply:
    """Return the reply. Raises `cattrs.BaseValidationError` when it is none."""
    reply: Reply = _converter().get_structure_hook(Reply)(message, Reply)
    return reply
