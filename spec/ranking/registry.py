"""The kernels that exist, as a persistent value (rule R2)."""

from enum import Enum

from attrs import field, frozen
from immutables import Map

from spec.errors import InvalidValue
from spec.ranking.kernel import Kernel

Place = tuple[str, str]
"""Operation and backend."""


class Origin(Enum):
    """Who brought a kernel."""

    BUILT_IN = "built_in"
    CUSTOM = "custom"


@frozen
class Registry:
    """Kernels by id, in one name space for built-in and custom ones, and a default per place.

    Every change returns a new registry and leaves this one as it was. Two registries with the same
    content are equal, whatever the order in which it came in.
    """

    kernels: Map[str, Kernel] = field(factory=Map)
    origins: Map[str, Origin] = field(factory=Map)
    places: Map[Place, tuple[str, ...]] = field(factory=Map)
    """Kernel ids of each operation and backend, in order of id."""
    defaults: Map[Place, str] = field(factory=Map)

    def register(self, kernel: Kernel, origin: Origin = Origin.BUILT_IN) -> "Registry":
        """Return a registry that also holds `kernel`.

        Raises `InvalidValue` (R2) if the id is taken, also by an equal kernel or one of the other
        origin: a silent replacement would change what an old record means.
        """
        if kernel.id in self.kernels:
            taken = self.origins[kernel.id].value
            raise InvalidValue("kernel.id", repr(kernel.id), f"an id not taken ({taken})", "R2")
        place = (kernel.operation, kernel.backend)
        ids = tuple(sorted((*self.places.get(place, ()), kernel.id)))
        return Registry(
            kernels=self.kernels.set(kernel.id, kernel),
            origins=self.origins.set(kernel.id, origin),
            places=self.places.set(place, ids),
            defaults=self.defaults,
        )

    def with_default(self, kernel_id: str) -> "Registry":
        """Return a registry in which `kernel_id` is the default of its operation and backend.

        An earlier default of that place is replaced. Raises `InvalidValue` (R2) for an unknown id.
        """
        kernel = self.kernel(kernel_id)
        place = (kernel.operation, kernel.backend)
        return Registry(
            self.kernels, self.origins, self.places, self.defaults.set(place, kernel_id)
        )

    def kernel(self, kernel_id: str) -> Kernel:
        """Return the kernel of that id; raises `InvalidValue` (R2) if there is none."""
        found = self.kernels.get(kernel_id)
        if found is None:
            raise InvalidValue("kernel_id", repr(kernel_id), "a registered kernel", "R2")
        return found

    def candidates(self, operation: str, backend: str) -> tuple[Kernel, ...]:
        """Return every kernel of that place in order of id, constraints not yet looked at."""
        return tuple(self.kernels[one] for one in self.places.get((operation, backend), ()))

    def default(self, operation: str, backend: str) -> str | None:
        """Return the id of the default of that place; `None` where none was named."""
        return self.defaults.get((operation, backend))
