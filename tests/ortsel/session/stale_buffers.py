"""A rewrite that leaves the model alone and breaks the process that it runs in, a trial's child.

From then on sessions with buffers of their own compute on the first feed that they got, as a
captured graph does whose inputs nobody copies.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ortsel.fixed_addresses import FixedAddressSession

if TYPE_CHECKING:
    import onnx_ir as ir


def install(model: "ir.Model") -> "ir.Model":
    copy_in = FixedAddressSession._copy_in

    def first_only(self: FixedAddressSession, feed: Mapping[str, Any]) -> None:
        if self._binding is None:
            copy_in(self, feed)

    setattr(FixedAddressSession, "_copy_in", first_only)  # noqa: B010
    return model
