"""Where bound inputs and outputs are."""

from typing import Final

from attrs import field, frozen

from spec.canonical_json import Json


@frozen(order=True)
class Device:
    """A memory, in ONNX Runtime's words: `device_type` and `device_id`."""

    kind: str = "cpu"
    number: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


CPU_MEMORY: Final = Device()


def _elsewhere(places: "tuple[tuple[str, Device], ...]") -> "tuple[tuple[str, Device], ...]":
    return tuple(sorted((name, device) for name, device in places if device != CPU_MEMORY))


@frozen
class BoundDevices:
    """`run_with_iobinding` with inputs or outputs in the memory of devices.

    What is not named is in CPU memory. Calls are timed between synchronisations, so that the work
    of the devices is in; copies between host and device are not, where both ends are bound there.
    Every call gets outputs of its own.
    """

    inputs: tuple[tuple[str, Device], ...] = field(default=(), converter=_elsewhere)
    outputs: tuple[tuple[str, Device], ...] = field(default=(), converter=_elsewhere)

    @property
    def value(self) -> str:
        """The word for this way of calling, as `Calling` has one for each of the others."""
        return "bound-device"

    def input(self, name: str) -> Device:
        """Return where an input is."""
        return dict(self.inputs).get(name, CPU_MEMORY)

    def output(self, name: str) -> Device:
        """Return where an output is to be."""
        return dict(self.outputs).get(name, CPU_MEMORY)

    def parts(self) -> Json:
        """Return the devices as named parts of a key."""
        return {
            "inputs": {name: str(device) for name, device in self.inputs},
            "outputs": {name: str(device) for name, device in self.outputs},
        }
