"""The tables of provider options, against themselves and against the installed library."""

import importlib.metadata
from pathlib import Path

import pytest

from kernels_cuda import (
    CUDA_OPTIONS,
    NV_TENSORRT_RTX_OPTIONS,
    SDPA_BITS,
    TENSORRT_OPTIONS,
    DefaultState,
    Numerics,
    OptionTable,
    OptionType,
    Owner,
    ProviderOption,
    describe_mask,
)
from spec.capability import ORDER, Backend, Operator, OrtBuild, Provider, kernel_options, sdpa_bits
from spec.errors import InvalidValue

TABLES = (CUDA_OPTIONS, TENSORRT_OPTIONS, NV_TENSORRT_RTX_OPTIONS)
EVERY_OPTION = [(table, option) for table in TABLES for option in table.options]


@pytest.mark.parametrize(
    ("table", "option"), EVERY_OPTION, ids=lambda value: getattr(value, "name", "")
)
def test_every_option_is_well_formed(table: OptionTable, option: ProviderOption) -> None:
    assert table.find(option.name) is option
    if option.default:
        assert table.accepts(option.name, option.default)
    if option.numerics is not Numerics.SAME and option.owner is Owner.TUNER:
        needs_words = option.numerics is Numerics.CHANGED
        assert option.effect or not needs_words, "a plan must be able to say what it changes"
    if option.type is OptionType.POINTER:
        assert option.owner is Owner.USER


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.provider)
def test_every_table_has_a_source_and_refuses_unknown_names(table: OptionTable) -> None:
    assert table.source
    with pytest.raises(
        InvalidValue, match=f"got 'no_such_option', need an option of {table.provider}"
    ):
        table.find("no_such_option")


def test_a_value_of_the_wrong_type_is_not_accepted() -> None:
    assert CUDA_OPTIONS.accepts("use_tf32", "0")
    assert not CUDA_OPTIONS.accepts("use_tf32", "yes")
    assert CUDA_OPTIONS.accepts("cudnn_conv_algo_search", "HEURISTIC")
    assert not CUDA_OPTIONS.accepts("cudnn_conv_algo_search", "heuristic")
    assert CUDA_OPTIONS.accepts("sdpa_kernel", "17")
    assert not CUDA_OPTIONS.accepts("sdpa_kernel", "flash")
    assert not TENSORRT_OPTIONS.accepts("trt_engine_cache_path", "")


@pytest.mark.parametrize(
    ("option_type", "default", "choices"),
    [
        (OptionType.CHOICE, "A", ()),
        (OptionType.CHOICE, "A", ("B",)),
        (OptionType.INTEGER, "1", ("1",)),
        (OptionType.BOOLEAN, "true", ()),
    ],
)
def test_a_malformed_option_is_refused(
    option_type: OptionType, default: str, choices: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidValue, match="catalogue"):
        ProviderOption("name", option_type, default, Owner.TUNER, choices=choices)


def test_a_name_is_listed_once_and_in_lower_case() -> None:
    option = ProviderOption("name", OptionType.INTEGER, "1", Owner.TUNER)
    with pytest.raises(InvalidValue, match=r"\['name'\] twice"):
        OptionTable("P", "s", (option, option))
    with pytest.raises(InvalidValue, match="lower-case words"):
        ProviderOption("Bad Name", OptionType.INTEGER, "1", Owner.TUNER)


@pytest.mark.parametrize(
    ("table", "library"),
    [
        (CUDA_OPTIONS, "libonnxruntime_providers_cuda.so"),
        (TENSORRT_OPTIONS, "libonnxruntime_providers_tensorrt.so"),
    ],
    ids=["cuda", "tensorrt"],
)
def test_the_installed_library_knows_every_name(table: OptionTable, library: str) -> None:
    try:
        package = importlib.metadata.distribution("onnxruntime-gpu")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("onnxruntime-gpu is not installed")
    path = Path(str(package.locate_file(f"onnxruntime/capi/{library}")))
    if not path.exists():
        pytest.skip(f"onnxruntime-gpu here has no {library}")
    strings = path.read_bytes()
    assert b"no_such_option\0" not in strings, "pointless if every name is found"
    unknown = [one.name for one in table.options if f"{one.name}\0".encode() not in strings]
    assert unknown == []
    words = [word for one in table.options for word in one.choices]
    assert [word for word in words if word.encode() not in strings] == []


def test_the_bits_are_those_of_the_reference_model() -> None:
    known = {entry.bit for entry in SDPA_BITS}
    assert sorted(known) == [entry.bit for entry in SDPA_BITS], "lowest first"
    assert all(entry.bit.bit_count() == 1 for entry in SDPA_BITS)
    used = 0
    for operator in Operator:
        for backend in ORDER:
            used |= sdpa_bits(backend, operator)
    removed = {entry.bit for entry in SDPA_BITS if entry.until is not None}
    assert {bit for bit in known if used & bit} == known - removed


def test_the_default_states_are_those_of_the_reference_model() -> None:
    build = OrtBuild((1, 32, 0), frozenset({Provider.CPU}), frozenset({Backend.MATH}))
    options = kernel_options(0, build, Operator.MULTI_HEAD_ATTENTION)
    on = sum(
        entry.bit for entry in SDPA_BITS if entry.default in {DefaultState.ON, DefaultState.ALWAYS}
    )
    for backend in ORDER:
        needed = sdpa_bits(backend, Operator.MULTI_HEAD_ATTENTION)
        assert (backend in options.enabled) is (needed & on == needed), backend


def test_a_mask_is_described_with_the_unfused_path_that_cannot_be_switched_off() -> None:
    assert describe_mask(1) == ("FLASH_ATTENTION", "MATH")
    assert describe_mask(4 | 32) == ("TRT_FUSED_ATTENTION", "MATH", "TRT_FLASH_ATTENTION")
