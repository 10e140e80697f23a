"""Reading which kernel ran."""

import pytest

from kernels_cuda import SDPA_BITS, DefaultState
from kernels_cuda.debug_output import BACKENDS, enabled_kernels, kernel_runs
from spec.capability import Backend

PRINTED = (
    "\x1b[36mAttentionKernelOptions: FLASH_ATTENTION=1 EFFICIENT_ATTENTION=0 MATH=1\x1b[0m\n"
    "something else\n"
    "\x1b[36mOperator=MultiHeadAttention Node=attn_0 DataType=fp16 SdpaKernel=FLASH_ATTENTION"
    "\x1b[0m\n"
    "\x1b[36mOperator=GroupQueryAttention Node=attn_1 DataType=bf16 SdpaKernel=XQA NumSplits=4"
    "\x1b[0m\n"
    "Operator=QMoE Node=x Kernel=y\n"
)


def test_runs_are_read_through_colours_and_other_lines() -> None:
    first, second = kernel_runs(PRINTED)
    assert (first.operator, first.node, first.dtype) == ("MultiHeadAttention", "attn_0", "fp16")
    assert first.may_be(Backend.FLASH_ATTENTION_2)
    assert not first.may_be(Backend.MATH)
    assert second.kernel == "XQA"
    assert second.may_be(Backend.XQA)


def test_options_are_those_of_the_last_provider_that_started() -> None:
    options = {"FLASH_ATTENTION": True, "EFFICIENT_ATTENTION": False, "MATH": True}
    assert enabled_kernels(PRINTED) == options
    later = PRINTED + "AttentionKernelOptions: FLASH_ATTENTION=0\n"
    assert enabled_kernels(later) == {"FLASH_ATTENTION": False}
    assert enabled_kernels("nothing") == {}


@pytest.mark.parametrize("word", ["FLASH", "FLASH_ATTENTION"])
def test_a_word_may_lack_its_ending(word: str) -> None:
    [run] = kernel_runs(f"Operator=Attention SdpaKernel={word}")
    assert run.may_be(Backend.FLASH_ATTENTION_2)
    assert run.dtype == ""


def test_an_unknown_word_is_no_backend() -> None:
    [run] = kernel_runs("Operator=PagedAttention Node=p SdpaKernel=LATENT")
    assert not any(run.may_be(backend) for backend in Backend)


def test_every_bit_that_is_in_the_binaries_has_its_word() -> None:
    present = {one.name for one in SDPA_BITS if one.until is None}
    assert any(one.default is DefaultState.ABSENT for one in SDPA_BITS)
    assert present <= BACKENDS.keys()
