"""The option tables against the names that a real onnxruntime-gpu wheel contains."""

import subprocess
import sys
from pathlib import Path

import pytest

from kernels_cuda import CUDA_OPTIONS, SDPA_BITS, TENSORRT_OPTIONS, DefaultState, OptionTable
from tests.kernels_cuda.wheel_names import WheelNames, read_wheel, recorded

TABLES = {"cuda": CUDA_OPTIONS, "tensorrt": TENSORRT_OPTIONS}


def unknown_names(table: OptionTable, found: frozenset[str]) -> list[str]:
    """Names that are no whole string, nor the end of one: linkers let strings share their ends."""
    return [
        option.name
        for option in table.options
        if not any(name == option.name or name.endswith(f"_{option.name}") for name in found)
    ]


def check(names: WheelNames) -> None:
    for library, table in TABLES.items():
        assert unknown_names(table, names.names[library]) == [], library
        words = {word for option in table.options for word in option.choices}
        assert words <= names.words
    for entry in SDPA_BITS:
        present = entry.default is not DefaultState.ABSENT
        assert (entry.name in names.words) is present, entry.name
        assert (entry.variable in names.variables) is (present and entry.variable != ""), entry.name


def test_the_recorded_library_knows_every_name_and_word_and_bit() -> None:
    names = recorded()
    assert "no_such_option" not in names.names["cuda"]
    check(names)


def test_a_name_that_the_library_does_not_have_would_be_noticed() -> None:
    found = recorded().names["tensorrt"]
    assert unknown_names(CUDA_OPTIONS, found), "the CUDA options are not TensorRT's"


def test_every_option_of_tensorrt_is_in_the_table() -> None:
    options = {name for name in recorded().names["tensorrt"] if name.startswith("trt_")}
    assert options <= {option.name for option in TENSORRT_OPTIONS.options}


@pytest.mark.deep
def test_the_newest_wheel_on_the_index_knows_them_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(tmp_path)]
    done = subprocess.run([*command, "onnxruntime-gpu"], capture_output=True, check=False)
    wheels = list(tmp_path.glob("*.whl"))
    if done.returncode or not wheels:
        pytest.skip("onnxruntime-gpu cannot be had here")
    found = read_wheel(wheels[0])
    check(found)
    if found.version == recorded().version:
        assert found == recorded()
