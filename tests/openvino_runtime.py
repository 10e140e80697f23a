"""Runs the tests of OpenVINO plans on an ONNX Runtime that has it, in an environment of its own.

`python -m tests.openvino_runtime [ROOT]`. Two wheels of ONNX Runtime can't be in one environment.
Where the wheel cannot be installed (another platform, no network) it says so and fails nothing.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    "tests/ortsel/candidates/test_openvino.py",
    "tests/ortsel/candidates/test_static_shapes.py",
)


def main(root: Path) -> int:
    """Install, check that the provider is there, and run."""
    constraints = (root / "constraints.txt").read_text().splitlines()
    kept = [line for line in constraints if not line.startswith("onnxruntime=")]
    with tempfile.TemporaryDirectory(prefix="ortsel-openvino-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        narrowed = Path(folder) / "constraints.txt"
        narrowed.write_text("\n".join(kept) + "\n")
        tools = ["hypothesis", "pytest", "pytest-timeout"]
        wanted = [f"{root}[openvino]", *tools]
        install = [python, "-m", "pip", "install", "-q", "-c", str(narrowed), *wanted]
        if subprocess.run(install, check=False).returncode:
            print("onnxruntime-openvino cannot be installed on this machine: not tested here")
            return 0
        check = "import onnxruntime as o; print(o.__version__, o.get_available_providers())"
        done = subprocess.run([python, "-c", check], check=True, capture_output=True, text=True)
        print(done.stdout.strip())
        if "OpenVINOExecutionProvider" not in done.stdout:
            print("the wheel has no OpenVINO provider")
            return 1
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        return subprocess.run(command, cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
