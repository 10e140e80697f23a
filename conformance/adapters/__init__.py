"""Ways to reach an implementation: a process, a harness in this interpreter, a pytest run."""

from conformance.adapters.harness import Harness, serve
from conformance.adapters.in_process import InProcess, Main
from conformance.adapters.process import Process

__all__ = ["Harness", "InProcess", "Main", "Process", "serve"]
