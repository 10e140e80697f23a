"""Well-known devices with figures their vendors publish.

Streaming multiprocessors, memory size and bandwidth come from the product data sheets and the
architecture white papers of NVIDIA (Volta, Turing, GA102, GA100, AD102, GH100, Blackwell), the
opt-in shared memory per block from the compute capability table of the CUDA C++ Programming Guide,
Apple's figures from its product pages, CPU bandwidth from the number of memory channels times the
transfer rate. An advertised gigabyte counts as 10^9 bytes, so a preset never promises more memory
than the board has; `available` equals `total`, since only the machine knows what is free.

A preset is for tests, for planning and for offline use. On a real machine the facts are read there.
"""

from types import MappingProxyType
from typing import Final

from spec.capability.element_type import ElementType
from spec.capability.hardware import DeviceKind, Hardware

_GB: Final = 10**9
_KIB: Final = 1024
_MIB: Final = 1024 * 1024

_FP16 = frozenset({ElementType.FLOAT32, ElementType.FLOAT16})
_BF16 = _FP16 | {ElementType.BFLOAT16}
_FP8 = _BF16 | {ElementType.FLOAT8_E4M3, ElementType.FLOAT8_E5M2}


def _nvidia(
    name: str,
    capability: tuple[int, int],
    *,
    sms: int,
    memory_gb: int,
    bandwidth_gb_per_s: int,
    l2_mib: int,
    shared_kib: int,
    types: frozenset[ElementType],
) -> Hardware:
    return Hardware(
        name=name,
        kind=DeviceKind.CUDA,
        compute_units=sms,
        total_memory_bytes=memory_gb * _GB,
        available_memory_bytes=memory_gb * _GB,
        memory_bandwidth_bytes_per_s=bandwidth_gb_per_s * _GB,
        compute_capability=capability,
        native_types=types,
        has_tensor_cores=True,
        l2_cache_bytes=l2_mib * _MIB,
        shared_memory_per_block_bytes=shared_kib * _KIB,
    )


V100 = _nvidia(
    "NVIDIA V100 SXM2 32GB",
    (7, 0),
    sms=80,
    memory_gb=32,
    bandwidth_gb_per_s=900,
    l2_mib=6,
    shared_kib=96,
    types=_FP16,
)
T4 = _nvidia(
    "NVIDIA T4",
    (7, 5),
    sms=40,
    memory_gb=16,
    bandwidth_gb_per_s=320,
    l2_mib=4,
    shared_kib=64,
    types=_FP16,
)
A100 = _nvidia(
    "NVIDIA A100 SXM4 80GB",
    (8, 0),
    sms=108,
    memory_gb=80,
    bandwidth_gb_per_s=2039,
    l2_mib=40,
    shared_kib=163,
    types=_BF16,
)
A10 = _nvidia(
    "NVIDIA A10",
    (8, 6),
    sms=72,
    memory_gb=24,
    bandwidth_gb_per_s=600,
    l2_mib=6,
    shared_kib=99,
    types=_BF16,
)
RTX_3090 = _nvidia(
    "NVIDIA GeForce RTX 3090",
    (8, 6),
    sms=82,
    memory_gb=24,
    bandwidth_gb_per_s=936,
    l2_mib=6,
    shared_kib=99,
    types=_BF16,
)
L4 = _nvidia(
    "NVIDIA L4",
    (8, 9),
    sms=58,
    memory_gb=24,
    bandwidth_gb_per_s=300,
    l2_mib=48,
    shared_kib=99,
    types=_FP8,
)
RTX_4090 = _nvidia(
    "NVIDIA GeForce RTX 4090",
    (8, 9),
    sms=128,
    memory_gb=24,
    bandwidth_gb_per_s=1008,
    l2_mib=72,
    shared_kib=99,
    types=_FP8,
)
H100 = _nvidia(
    "NVIDIA H100 SXM5 80GB",
    (9, 0),
    sms=132,
    memory_gb=80,
    bandwidth_gb_per_s=3350,
    l2_mib=50,
    shared_kib=227,
    types=_FP8,
)
H200 = _nvidia(
    "NVIDIA H200 SXM 141GB",
    (9, 0),
    sms=132,
    memory_gb=141,
    bandwidth_gb_per_s=4800,
    l2_mib=50,
    shared_kib=227,
    types=_FP8,
)
B200 = _nvidia(
    "NVIDIA B200 SXM 180GB",
    (10, 0),
    sms=148,
    memory_gb=180,
    bandwidth_gb_per_s=8000,
    l2_mib=126,
    shared_kib=227,
    types=_FP8,
)
RTX_5090 = _nvidia(
    "NVIDIA GeForce RTX 5090",
    (12, 0),
    sms=170,
    memory_gb=32,
    bandwidth_gb_per_s=1792,
    l2_mib=96,
    shared_kib=99,
    types=_FP8,
)
RTX_PRO_6000 = _nvidia(
    "NVIDIA RTX PRO 6000 Blackwell",
    (12, 0),
    sms=188,
    memory_gb=96,
    bandwidth_gb_per_s=1792,
    l2_mib=128,
    shared_kib=99,
    types=_FP8,
)


def _apple(name: str, cores: int, memory_gb: int, bandwidth_gb_per_s: int) -> Hardware:
    return Hardware(
        name=name,
        kind=DeviceKind.METAL,
        compute_units=cores,
        total_memory_bytes=memory_gb * _GB,
        available_memory_bytes=memory_gb * _GB,
        memory_bandwidth_bytes_per_s=bandwidth_gb_per_s * _GB,
        native_types=_FP16,
    )


APPLE_M1 = _apple("Apple M1", 8, 16, 68)
APPLE_M2_MAX = _apple("Apple M2 Max", 38, 96, 400)
APPLE_M4_MAX = _apple("Apple M4 Max", 40, 128, 546)


def _cpu(
    name: str,
    *,
    threads: int,
    memory_gb: int,
    bandwidth_gb_per_s: int,
    l2_kib: int,
    sets: frozenset[str],
    types: frozenset[ElementType],
) -> Hardware:
    return Hardware(
        name=name,
        kind=DeviceKind.CPU,
        compute_units=threads,
        total_memory_bytes=memory_gb * _GB,
        available_memory_bytes=memory_gb * _GB,
        memory_bandwidth_bytes_per_s=bandwidth_gb_per_s * _GB,
        native_types=types,
        l2_cache_bytes=l2_kib * _KIB,
        instruction_sets=sets,
    )


X86_AVX2 = _cpu(
    "x86-64 with AVX2, 8 cores, two channels of DDR4-3200",
    threads=8,
    memory_gb=32,
    bandwidth_gb_per_s=51,
    l2_kib=512,
    sets=frozenset({"avx2", "fma"}),
    types=frozenset({ElementType.FLOAT32}),
)
X86_AVX512 = _cpu(
    "x86-64 with AVX-512, 32 cores, twelve channels of DDR5-4800",
    threads=32,
    memory_gb=384,
    bandwidth_gb_per_s=460,
    l2_kib=1024,
    sets=frozenset({"avx2", "fma", "avx512f", "avx512bw", "avx512vnni", "avx512_bf16"}),
    types=frozenset({ElementType.FLOAT32, ElementType.BFLOAT16}),
)
ARM64 = _cpu(
    "arm64 (Neoverse V1), 64 cores, eight channels of DDR5-4800",
    threads=64,
    memory_gb=128,
    bandwidth_gb_per_s=307,
    l2_kib=1024,
    sets=frozenset({"neon", "asimddp", "fp16", "sve", "i8mm", "bf16"}),
    types=_BF16,
)

PRESETS: Final = MappingProxyType(
    {
        "v100": V100,
        "t4": T4,
        "a100": A100,
        "a10": A10,
        "rtx_3090": RTX_3090,
        "l4": L4,
        "rtx_4090": RTX_4090,
        "h100": H100,
        "h200": H200,
        "b200": B200,
        "rtx_5090": RTX_5090,
        "rtx_pro_6000": RTX_PRO_6000,
        "apple_m1": APPLE_M1,
        "apple_m2_max": APPLE_M2_MAX,
        "apple_m4_max": APPLE_M4_MAX,
        "x86_avx2": X86_AVX2,
        "x86_avx512": X86_AVX512,
        "arm64": ARM64,
    }
)
"""Every preset by its short name."""
