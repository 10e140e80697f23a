"""The catalogue of CUDA, TensorRT and attention kernels, as values.

Facts: `attention_backends`, `cuda_options`, `tensorrt_options`, `nv_tensorrt_rtx_options`. Rules
that turn facts about a device, a build and a model into options worth trying: `cuda_plans`,
`tensorrt_plans`, `nv_tensorrt_rtx_plans`. Which kernel a call takes is decided in
`spec.capability`.
"""

from kernels_cuda.attention_backends import SDPA_BITS, DefaultState, SdpaBit, describe_mask
from kernels_cuda.compute_capabilities import (
    COMPUTE_CAPABILITIES,
    ComputeCapability,
    capability_facts,
)
from kernels_cuda.cuda_options import CUDA, CUDA_OPTIONS
from kernels_cuda.cuda_plans import CudaFacts, cuda_plans
from kernels_cuda.nv_tensorrt_rtx_options import NV_TENSORRT_RTX, NV_TENSORRT_RTX_OPTIONS
from kernels_cuda.nv_tensorrt_rtx_plans import NvTensorrtRtxFacts, nv_tensorrt_rtx_plans
from kernels_cuda.provider_option import (
    Numerics,
    OptionTable,
    OptionType,
    Owner,
    ProviderOption,
)
from kernels_cuda.provider_plan import LeftOut, ProviderPlan, ProviderPlans
from kernels_cuda.sdpa_masks import MASKS, TYPICAL_CALLS, SdpaMask, distinct_masks
from kernels_cuda.shape_range import ShapeRange
from kernels_cuda.tensorrt_options import TENSORRT, TENSORRT_OPTIONS
from kernels_cuda.tensorrt_plans import TensorrtFacts, tensorrt_plans

__all__ = [
    "COMPUTE_CAPABILITIES",
    "CUDA",
    "CUDA_OPTIONS",
    "MASKS",
    "NV_TENSORRT_RTX",
    "NV_TENSORRT_RTX_OPTIONS",
    "SDPA_BITS",
    "TENSORRT",
    "TENSORRT_OPTIONS",
    "TYPICAL_CALLS",
    "ComputeCapability",
    "CudaFacts",
    "DefaultState",
    "LeftOut",
    "Numerics",
    "NvTensorrtRtxFacts",
    "OptionTable",
    "OptionType",
    "Owner",
    "ProviderOption",
    "ProviderPlan",
    "ProviderPlans",
    "SdpaBit",
    "SdpaMask",
    "ShapeRange",
    "TensorrtFacts",
    "capability_facts",
    "cuda_plans",
    "describe_mask",
    "distinct_masks",
    "nv_tensorrt_rtx_plans",
    "tensorrt_plans",
]
