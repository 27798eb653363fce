"""The NVIDIA GPUs of this machine, asked of nvidia-smi: no torch, no CUDA context."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from distlint.hardware.visible_devices import read_visible_devices

_QUERY = "index,uuid,name,memory.total,compute_cap,driver_version"
_LIMIT_S = 5.0


class GpuQueryError(Exception):
    """nvidia-smi is there and gave no answer; the message is its own, or says that it hung."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as the driver numbers it, whatever CUDA_VISIBLE_DEVICES says.

    `memory` is in bytes; `compute` is the compute capability, (0, 0) where unknown. `lost` is what
    nvidia-smi says instead of values where the driver no longer reaches the GPU.
    """

    index: int
    uuid: str
    name: str
    memory: int
    compute: tuple[int, int]
    driver: str
    lost: str = ""


def installed_gpus(limit_s: float = _LIMIT_S) -> tuple[Gpu, ...]:
    """All GPUs that the driver shows; none where nvidia-smi is not installed.

    Raises:
        GpuQueryError: nvidia-smi failed or did not answer within `limit_s` seconds (it hangs when
            a GPU has fallen off the bus).
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    command = [program, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise GpuQueryError(f"nvidia-smi did not answer within {limit_s:.0f} s") from None
    except OSError as error:
        raise GpuQueryError(f"nvidia-smi cannot be run: {error.strerror or error}") from error
    if answer.returncode != 0:
        said = (answer.stdout.strip() or answer.stderr.strip()).splitlines()
        if said and "No devices were found" in said[0]:
            return ()
        # It answers for the others and exits with 15 where one GPU is lost (nvidia-smi(1),
        # RETURN VALUE).
        with contextlib.suppress(GpuQueryError):
            found = parse_query(answer.stdout)
            if not all(gpu.lost for gpu in found):
                return found
        raise GpuQueryError(f"nvidia-smi failed: {said[0] if said else answer.returncode}")
    return parse_query(answer.stdout)


# What stands in a field, or a line, where the driver does not reach the GPU any more (NVML's
# error texts: nvmlErrorString for GPU_IS_LOST, UNKNOWN and IRQ_ISSUE).
_LOST_FIELD = re.compile(
    r"\[?(GPU is lost|Unknown Error|GPU requires reset|ERR!)\]?", re.IGNORECASE
)
_LOST_LINE = re.compile(
    r"Unable to determine the device handle for (?:GPU ?)?(?P<where>[0-9A-Fa-f:.]*): *(?P<why>.*)"
)


def parse_query(text: str) -> tuple[Gpu, ...]:
    """GPUs from the lines of `nvidia-smi --query-gpu=... --format=csv,noheader,nounits`.

    Raises:
        GpuQueryError: a line has another shape.
    """
    gpus = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if (match := _LOST_LINE.match(line)) is not None:
            why = match["why"].rstrip(". ") or "no device handle"
            gpus.append(Gpu(-1, "", f"GPU {match['where']}".strip(), 0, (0, 0), "", why))
            continue
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 6 or not fields[0].isdigit():
            raise GpuQueryError(f"nvidia-smi answered in an unknown form: {line}")
        index, uuid, name, memory, compute, driver = fields
        major, _, minor = compute.partition(".")
        lost = next((match[1] for f in fields[1:] if (match := _LOST_FIELD.fullmatch(f))), "")
        gpus.append(
            Gpu(
                index=int(index),
                uuid=uuid,
                name=name,
                # Grace and Spark have no memory of their own: nvidia-smi prints [N/A].
                memory=int(memory) << 20 if memory.isdigit() else 0,
                compute=(int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0),
                driver=driver,
                lost=lost,
            )
        )
    return tuple(gpus)


def visible_gpus(gpus: Sequence[Gpu], visible_devices: str | None) -> tuple[Gpu, ...]:
    """The GPUs that a process with this CUDA_VISIBLE_DEVICES sees, in its order; no lost ones.

    CUDA stops at the first ordinal that does not exist. Identifiers may be shortened to an
    unambiguous beginning (CUDA C++ Programming Guide, "CUDA Environment Variables").
    """
    gpus = tuple(gpu for gpu in gpus if not gpu.lost)
    devices = read_visible_devices(visible_devices).devices
    if devices is None:
        return gpus
    by_index = {gpu.index: gpu for gpu in gpus}
    seen: list[Gpu] = []
    for device in devices:
        if isinstance(device, int):
            matching = [by_index[device]] if device in by_index else []
        else:
            matching = [gpu for gpu in gpus if gpu.uuid.startswith(device)]
        if len(matching) != 1:
            break
        seen.append(matching[0])
    return tuple(seen)
