"""The reference model itself as an implementation under test, in both styles."""

from conformance.implementations.python.reference_harness import ReferenceHarness

__all__ = ["ReferenceHarness"]
