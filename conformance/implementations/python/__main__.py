"""`python -m conformance.implementations.python`: the reference model as a program."""

from conformance.adapters.harness import serve
from conformance.implementations.python.reference_harness import ReferenceHarness

if __name__ == "__main__":
    serve(ReferenceHarness())
