"""Scores and speed-ups for backends that nobody has measured yet: rules of thumb, not facts.

Scores are per mille and compare backends for one call; speed-ups are against MATH on the same
device. Both are coarse on purpose and give way to measurements (`spec.capability.history`).
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from attrs import frozen

from spec.capability.attention_input import AttentionInput
from spec.capability.backend import Backend
from spec.capability.hardware import Hardware
from spec.capability.memory import memory_estimate

_TINY = 128
_SHORT = 512
_MEDIUM = 1024
_LONG = 2048
_VERY_LONG = 4096
_DECODE_SOME = 256
_HOPPER = 90
_SMALL_HEAD = 64


@frozen
class Thumb:
    """A guess about one backend for one call."""

    score_permille: int
    speedup: Fraction
    reason: str


Guess = Callable[[AttentionInput, Hardware], Thumb]


def thumb(backend: Backend, attention: AttentionInput, hardware: Hardware) -> Thumb:
    """The guess for a backend that can run the call. Length means the longer of S_q and S_kv."""
    return _GUESSES[backend](attention, hardware)


def _always(score_permille: int, speedup: Fraction, reason: str) -> Guess:
    guess = Thumb(score_permille, speedup, reason)

    def same(_attention: AttentionInput, _hardware: Hardware) -> Thumb:
        return guess

    return same


def _xqa(attention: AttentionInput, _hardware: Hardware) -> Thumb:
    return Thumb(980, _decode_speedup(attention), "made for one token over a shared cache")


def _lean(attention: AttentionInput, _hardware: Hardware) -> Thumb:
    return Thumb(850, _decode_speedup(attention), "one token, work spread evenly")


def _flash_attention_3(attention: AttentionInput, _hardware: Hardware) -> Thumb:
    score = _by_length(attention, 700, 900, 980)
    return Thumb(score, 2 * _flash_speedup(attention), "Hopper kernel")


def _flash_attention_2(attention: AttentionInput, _hardware: Hardware) -> Thumb:
    score = _by_length(attention, 600, 850, 950)
    return Thumb(score, _flash_speedup(attention), f"tiled, at length {attention.longest}")


def _math(attention: AttentionInput, _hardware: Hardware) -> Thumb:
    tiny = attention.longest <= _TINY
    reason = "three steps cost little when tiny" if tiny else "always there"
    return Thumb(800 if tiny else 300, Fraction(1), reason)


def _by_length(attention: AttentionInput, short: int, medium: int, long: int) -> int:
    length = attention.longest
    return long if length >= _LONG else medium if length >= _SHORT else short


def _flash_speedup(attention: AttentionInput) -> Fraction:
    length = attention.longest
    if length >= _VERY_LONG:
        return Fraction(5)
    if length >= _LONG:
        return Fraction(7, 2)
    if length >= _MEDIUM:
        return Fraction(5, 2)
    return Fraction(9, 5) if length >= _SHORT else Fraction(6, 5)


def _decode_speedup(attention: AttentionInput) -> Fraction:
    """Splitting over the keys pays with their number, as idle processors get work."""
    for length, speedup in ((32768, 50), (8192, 20), (4096, 10), (1024, 4)):
        if attention.key_length >= length:
            return Fraction(speedup)
    return Fraction(3, 2)


def _flash_decode(attention: AttentionInput, _hardware: Hardware) -> Thumb:
    keys = attention.key_length
    speedup = _decode_speedup(attention)
    if attention.query_length > 1:
        return Thumb(200, speedup, "splitting over the keys gains little with many queries")
    if keys >= _MEDIUM:
        return Thumb(970, speedup, f"one token over {keys} keys")
    return Thumb(800 if keys >= _DECODE_SOME else 550, speedup, f"one token over only {keys} keys")


def _cudnn(attention: AttentionInput, hardware: Hardware) -> Thumb:
    """Public measurements: 1.7 to 2.3 times FlashAttention 2 on Hopper, 0.82 to 0.93 elsewhere.

    Source: huggingface/transformers 48163 (H100; A100, A10G and RTX PRO 6000).
    """
    if hardware.sm == _HOPPER and attention.longest >= _SHORT:
        return Thumb(960, _flash_speedup(attention) * Fraction(17, 10), "ahead of flash on Hopper")
    short = attention.longest <= _SHORT
    small = short and attention.head_size <= _SMALL_HEAD
    speedup = Fraction(2) if short else Fraction(3, 2)
    reason = "good at short sequences and small heads" if small else "behind flash on this device"
    return Thumb(900 if small else 700, speedup, reason)


def _memory_efficient(attention: AttentionInput, hardware: Hardware) -> Thumb:
    plain = memory_estimate(Backend.MATH, attention, hardware).total_bytes
    scarce = 2 * plain > hardware.available_memory_bytes
    reason = "writing the scores out would fill the memory" if scarce else "memory is no problem"
    return Thumb(850 if scarce else 500, Fraction(13, 10), reason)


def _cpu(attention: AttentionInput, _hardware: Hardware) -> Thumb:
    """Seen with 1.32 on one x86 machine: 6.0 against 6.5 ms at 512, 90 against 103 ms at 2048."""
    long = attention.longest >= _SHORT
    return Thumb(400 if long else 250, Fraction(11, 10), "scores stay in the cache")


_GUESSES: Final[Mapping[Backend, Guess]] = MappingProxyType(
    {
        Backend.XQA: _xqa,
        Backend.FLASH_DECODE: _flash_decode,
        Backend.FLASH_ATTENTION_3: _flash_attention_3,
        Backend.FLASH_ATTENTION_2: _flash_attention_2,
        Backend.VARIABLE_LENGTH: _always(750, Fraction(2), "no work on padding"),
        Backend.CUDNN: _cudnn,
        Backend.DECODER_MASKED: _always(900, Fraction(2), "made for one token with beams"),
        Backend.LEAN: _lean,
        Backend.TENSORRT_CROSS: _always(700, Fraction(3, 2), "few keys for many queries"),
        Backend.TENSORRT_FUSED: _always(800, Fraction(2), "one kernel for a short sequence"),
        Backend.TENSORRT_FLASH: _always(750, Fraction(3, 2), "tiled, for longer sequences"),
        Backend.MEMORY_EFFICIENT: _memory_efficient,
        Backend.METAL: _always(900, Fraction(5, 2), "the device's own kernel"),
        Backend.CPU: _cpu,
        Backend.MATH: _math,
    }
)
"""No figure is known for TensorRT, decoder-masked, lean and XQA: theirs follow ORT's own order."""
