"""What is to be decided: an operation on a workload in an environment."""

from enum import Enum
from functools import cached_property

from attrs import field, frozen

from spec.canonical_json import Json, canonical, freeze


class Scope(Enum):
    """How much of a computation one decision covers (rule S12)."""

    OPERATOR = "operator"
    FUSED_GRAPH = "fused-graph"
    PIPELINE = "pipeline"


@frozen
class Problem:
    """One question for the selector, in the named parts that its key is made of.

    Every part is a JSON value without floats. `operation`, `environment` and `workload` must not be
    empty (rule S1); they are checked when a selection is requested, so that a bad request is
    answered instead of raised.
    """

    scope: Scope
    operation: str
    """What is computed, such as "onnx-model" or an operator's name."""
    workload: Json = field(converter=freeze)
    """Shapes, element types, outputs asked for, way of calling, load regime."""
    environment: Json = field(converter=freeze)
    """Runtime, providers, libraries, device, thread budget: whatever changes kernels. Also the lane
    in which one tuning runs at a time (S4) and what a device failure quarantines (S8)."""
    model: Json = field(default="", converter=freeze)
    """Identity of the content, such as a hash; never a file name."""
    options: Json = field(default="", converter=freeze)
    """What the caller configured: session options, provider options."""
    lower_level: str = ""
    """Fingerprint of the decisions below that a pipeline rests on (S12); empty for other scopes."""
    persistent: bool = True
    """Whether stored records may be read and written for this problem."""

    @cached_property
    def lane(self) -> str:
        """Canonical text of the environment: problems with the same lane never tune at once."""
        return canonical(self.environment)

    @cached_property
    def middle_text(self) -> str:
        """Canonical members of the key from "environment" to "options" (`spec.keys`)."""
        return (
            f'"environment":{self.lane},"lower_level":{canonical(self.lower_level)},'
            f'"model":{canonical(self.model)},"operation":{canonical(self.operation)},'
            f'"options":{canonical(self.options)}'
        )

    @cached_property
    def last_text(self) -> str:
        """Canonical members of the key from "scope" to "workload" (`spec.keys`)."""
        return f'"scope":{canonical(self.scope.value)},"workload":{canonical(self.workload)}'
