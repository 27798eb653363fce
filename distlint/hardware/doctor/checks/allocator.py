"""PYTORCH_CUDA_ALLOC_CONF and its other names: what torch's parser refuses.

torch 2.13.0: c10/core/AllocatorConfig.h (the keys of every accelerator, seen by calling
torch._C._accelerator_setAllocatorSettings) and c10/cuda/CUDAAllocatorConfig.h (those of CUDA; which
variable wins). tests/hardware/test_doctor_settings.py gives the same texts to the installed torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from distlint.hardware.doctor.check import Check, Result, error, ok, warning
from distlint.hardware.doctor.machine import Machine
from distlint.launch.spelling import nearest

VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")


@dataclass(frozen=True, slots=True)
class Option:
    """A row: whether a value is taken, and what to write otherwise."""

    takes: Callable[[str], bool]
    words: str


def _number(text: str) -> float | None:
    """The leading number, as std::stoull and std::stod read it."""
    match = re.match(r"-?\d+(\.\d*)?|\.\d+", text)
    return float(match[0]) if match else None


def _megabytes(least: int) -> Option:
    def takes(text: str) -> bool:
        number = _number(text)
        return number is not None and int(number) >= least

    return Option(takes, f"a number of MB from {least} on")


def _fraction(text: str) -> bool:
    number = _number(text)
    return number is not None and 0 < number < 1


def _power_of_two(text: str) -> bool:
    parts = (
        [part.partition(":")[2] for part in text[1:-1].split(",")] if text[:1] == "[" else [text]
    )
    numbers = [_number(part) for part in parts]
    return all(n is not None and n > 0 and int(n) & (int(n) - 1) == 0 for n in numbers)


_FLAG = Option(lambda text: text in ("True", "False"), "True or False, with a capital")
_ANY = Option(lambda _: True, "")

OPTIONS: dict[str, Option] = {
    "large_segment_size_mb": _megabytes(11),
    "max_split_size_mb": _megabytes(20),
    "max_non_split_rounding_mb": _megabytes(20),
    "garbage_collection_threshold": Option(_fraction, "a number between 0 and 1"),
    "roundup_power2_divisions": Option(_power_of_two, "powers of two: 4, or [256:1,512:2,>:4]"),
    "expandable_segments": _FLAG,
    "pinned_use_background_threads": _FLAG,
    "pinned_max_round_threshold_mb": _megabytes(0),
    "pinned_max_cached_size_mb": _megabytes(0),
    # CUDA's own.
    "backend": Option(
        lambda text: text in ("native", "cudaMallocAsync"), "native, cudaMallocAsync"
    ),
    "release_lock_on_cudamalloc": _FLAG,
    "release_lock_on_hipmalloc": _FLAG,
    "pinned_use_cuda_host_register": _FLAG,
    "pinned_use_hip_host_register": _FLAG,
    "graph_capture_record_stream_reuse": _FLAG,
    "pinned_free_catch_all": _FLAG,
    "throw_on_cudamalloc_oom": _FLAG,
    "pinned_reserve_segment_size_mb": _ANY,
    "pinned_num_register_threads": _ANY,
    "per_process_memory_fraction": _ANY,
}

_PAIR = re.compile(r"([^,:\[\]]+):(\[[^\]]*\]|[^,:\[\]]+)")


def problem_with(text: str) -> tuple[str, str] | None:
    """What is wrong with a value of the variable, and what to write; None where nothing is."""
    packed = "".join(text.split())
    rest = packed.strip(",")
    while rest:
        match = _PAIR.match(rest)
        if match is None or (match.end() < len(rest) and rest[match.end()] != ","):
            return f"{rest!r} is no key:value", "key:value pairs, separated by commas."
        key, value = match[1], match[2]
        option = OPTIONS.get(key)
        if option is None:
            near = nearest(key, OPTIONS)
            return (
                f"there is no {key}" + (f" (did you mean {near}?)" if near else ""),
                f"one of {', '.join(OPTIONS)}.",
            )
        if not option.takes(value):
            return f"{key} is {value}", f"{key}: {option.words}."
        rest = rest[match.end() :].strip(",")
    return None


def allocator(machine: Machine) -> Iterator[Result]:
    """The variables of the caching allocator."""
    given = {name: machine.environ[name] for name in VARIABLES if name in machine.environ}
    found = list(_judged(given))
    yield from found or [
        ok(" ".join(f"{k}={v}" for k, v in given.items()) or f"{VARIABLES[0]} is not set")
    ]


def _judged(given: dict[str, str]) -> Iterator[Result]:
    for name, text in given.items():
        if (problem := problem_with(text)) is not None:
            yield error(
                f"{name}={text}: {problem[0]}",
                "torch raises on it when the first tensor goes to a GPU, on every rank.",
                problem[1],
            )
    if len(set(given.values())) > 1:
        yield warning(
            " ".join(f"{name}={text}" for name, text in given.items()),
            "they are names of one setting: CUDA's options come from the first, those of every "
            "accelerator from PYTORCH_ALLOC_CONF.",
            "set one of them only.",
        )


CHECKS = (Check("allocator", "devices", allocator),)
