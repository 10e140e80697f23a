"""How gunicorn ends workers that were forked after ONNX Runtime was imported.

A forked child of a process that has imported onnxruntime 1.32 hangs when its interpreter ends, with
or without a session, so gunicorn would wait its whole grace time and then kill the worker.
"""

import os
import sys
from typing import Any


def worker_exit(server: Any, worker: Any) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
