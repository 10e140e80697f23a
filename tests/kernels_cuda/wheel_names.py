"""Names that the libraries in an onnxruntime-gpu wheel contain, without installing it.

`python -m tests.kernels_cuda.wheel_names WHEEL` writes them down beside this file, so that the
option tables are checked against a real library on machines that will never have one.
"""

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Final

from attrs import frozen

RECORDED: Final = Path(__file__).with_name("onnxruntime_gpu_names.json")
FOLDER: Final = "onnxruntime/capi/libonnxruntime_providers_"
LIBRARIES: Final = ("cuda", "tensorrt")
OPTION: Final = re.compile(rb"(?<=\0)[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?=\0)")
VARIABLE: Final = re.compile(rb"(?<=\0)ORT_[A-Z0-9_]+(?=\0)")
KERNEL: Final = re.compile(r"fmha|fused_multihead|cudnn_generated|sparse_attention_kernel")
WORDS: Final = (
    "EXHAUSTIVE",
    "HEURISTIC",
    "DEFAULT",
    "kNextPowerOfTwo",
    "kSameAsRequested",
    "AttentionKernelOptions:",
    "Operator=",
    " DataType=fp16",
    " DataType=bf16",
    " DataType=fp32",
    " SdpaKernel=",
    "FLASH_ATTENTION",
    "EFFICIENT_ATTENTION",
    "TRT_FUSED_ATTENTION",
    "CUDNN_FLASH_ATTENTION",
    "TRT_FLASH_ATTENTION",
    "TRT_CROSS_ATTENTION",
    "DECODER_ATTENTION",
    "LEAN_ATTENTION",
    "TRT_CAUSAL_ATTENTION",
    "MATH",
    "XQA",
)
"""Words that tables and the reader of debug output rest on; those that are there are recorded."""


@frozen
class WheelNames:
    """What one wheel contains."""

    version: str
    names: dict[str, frozenset[str]]
    """By library: whole strings that can be names of options."""
    variables: frozenset[str]
    """Environment variables that are whole strings; those that only code builds are not found."""
    words: frozenset[str]


def read_wheel(wheel: Path) -> WheelNames:
    """Return the names in a wheel of onnxruntime-gpu."""
    names: dict[str, frozenset[str]] = {}
    variables: set[str] = set()
    words: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for library in LIBRARIES:
            content = archive.read(f"{FOLDER}{library}.so")
            found = (name.decode() for name in OPTION.findall(content))
            names[library] = frozenset(name for name in found if not KERNEL.search(name))
            variables |= {name.decode() for name in VARIABLE.findall(content)}
            words |= {word for word in WORDS if word.encode() in content}
    version = wheel.name.split("-")[1]
    return WheelNames(version, names, frozenset(variables), frozenset(words))


def recorded() -> WheelNames:
    """Return the names that were written down."""
    content = json.loads(RECORDED.read_text())
    return WheelNames(
        content["version"],
        {library: frozenset(names) for library, names in content["names"].items()},
        frozenset(content["variables"]),
        frozenset(content["words"]),
    )


def main(wheel: Path) -> None:
    """Write the names of a wheel down."""
    found = read_wheel(wheel)
    content = {
        "version": found.version,
        "names": {library: sorted(names) for library, names in found.names.items()},
        "variables": sorted(found.variables),
        "words": sorted(found.words),
    }
    RECORDED.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
