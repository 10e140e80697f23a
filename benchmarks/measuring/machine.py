"""On what machine and with which versions a figure was measured."""

import os
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
import onnxruntime

from ortsel.environment import thread_budget
from ortsel.environment.cpu_model import read_cpu_model


def machine() -> dict[str, Any]:
    """Return the machine and the versions that every figure is given with."""
    cpu = read_cpu_model()
    names = [
        line for line in (() if cpu is None else cpu.identity) if line.startswith("model name")
    ]
    return {
        "cpu": names[0].partition(": ")[2] if names else platform.processor(),
        "cpus": thread_budget(),
        "numpy": np.__version__,
        "onnxruntime": onnxruntime.__version__,
        "ortsel": version("ortsel"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def load_average() -> float | None:
    """Return how many processes wanted to run over the last minute; None where nobody counts."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
