"""GPUs: the build of torch against the driver, what is visible, and who can reach whom."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, TorchFacts, Unknown
from distlint.hardware.visible_devices import read_visible_devices

# The oldest driver that runs any release of a CUDA major version (minor version compatibility):
# NVIDIA, "CUDA Compatibility", table 1 of "Minor Version Compatibility".
_OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}


def torch_build(machine: Machine) -> Iterator[Result]:
    """Does this build of torch run on this driver."""
    facts = machine.torch
    if isinstance(facts, Unknown):
        if facts.failed:
            yield error(
                facts.reason,
                "no rank gets past its imports.",
                "do what the message says; else install torch again for this Python and driver: "
                "https://pytorch.org/get-started/locally",
            )
        else:
            yield skipped(facts.reason)
        return
    build = f"CUDA {facts.cuda_build}" if facts.cuda_build else "CPU only"
    if facts.hip_build:
        build = f"ROCm {facts.hip_build}"
    gpus = () if isinstance(machine.gpus, Unknown) else machine.gpus
    driver = gpus[0].driver if gpus else ""
    saw = f"torch {facts.version} ({build})" + (f", driver {driver}" if driver else "")
    if not gpus:
        if isinstance(machine.gpus, Unknown):
            yield error(
                machine.gpus.reason,
                "a GPU that the driver has lost hangs every process that touches it.",
                "look for Xid messages in dmesg; restart the machine or drain it.",
            )
        elif facts.cuda_build and not facts.cuda_available:
            yield ok(f"{saw}; no NVIDIA GPU here, so it runs on the CPU")
        else:
            yield ok(saw)
        return
    if facts.cuda_build is None and facts.hip_build is None:
        yield error(
            f"{saw}; {len(gpus)} x {gpus[0].name} installed",
            "the build has no CUDA: all ranks train on the CPU, or fail on the first .cuda().",
            "install a CUDA build: https://pytorch.org/get-started/locally",
        )
        return
    major = int(facts.cuda_build.partition(".")[0]) if facts.cuda_build else 0
    oldest = _OLDEST_DRIVER.get(major, 0)
    if driver.partition(".")[0].isdigit() and int(driver.partition(".")[0]) < oldest:
        yield error(
            saw,
            f"a CUDA {major} build needs driver {oldest} or later: torch.cuda.is_available() is "
            "False and every rank falls back to the CPU.",
            f"update the driver to {oldest} or later, or install a build for an older CUDA.",
        )
        return
    if machine.visible and not facts.cuda_available:
        yield error(
            f"{saw}; CUDA does not start: {facts.cuda_error or 'no message'}",
            "every rank falls back to the CPU, and each believes it is the main process.",
            "fix what CUDA says; after a driver update, restart the machine.",
        )
        return
    yield from _architectures(machine, facts, saw)


def _architectures(machine: Machine, facts: TorchFacts, saw: str) -> Iterator[Result]:
    """Kernels of the build against the GPUs' compute capability (same major, no newer minor)."""
    built = [
        (int(a[3:-1]), int(a[-1]))
        for a in facts.architectures
        if a.startswith("sm_") and a[3:].isdigit()
    ]
    strange = sorted(
        {
            f"{gpu.name} ({gpu.compute[0]}.{gpu.compute[1]})"
            for gpu in machine.visible
            if built
            and gpu.compute > (0, 0)
            and not any(b[0] == gpu.compute[0] and b[1] <= gpu.compute[1] for b in built)
        }
    )
    if strange:
        yield error(
            f"{saw} has no kernels for {', '.join(strange)}",
            'the first operation fails with "no kernel image is available for execution".',
            "install a build of torch that lists this compute capability.",
        )
    else:
        yield ok(saw)


def visible_devices(machine: Machine) -> Iterator[Result]:
    """CUDA_VISIBLE_DEVICES malformed, doubled, empty or naming what is not there."""
    value = machine.environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        yield ok("CUDA_VISIBLE_DEVICES is not set: all GPUs are visible")
        return
    saw = f"CUDA_VISIBLE_DEVICES={value!r}"
    read = read_visible_devices(value)
    devices = read.devices or ()
    seen = f"torch sees {len(devices)} GPU{'s' * (len(devices) != 1)}"
    if read.doubled:
        yield error(
            f"{saw} names {', '.join(read.doubled)} twice",
            "CUDA hides every GPU when one is named twice: all ranks run on the CPU.",
            f"name each once: CUDA_VISIBLE_DEVICES={_cleaned(value)}",
        )
        return
    if read.malformed:
        yield error(
            f"{saw}: {', '.join(repr(e.strip()) for e in read.malformed)} is not a GPU's number",
            f"CUDA reads leading digits and stops at the first element without any: {seen}.",
            "write numbers separated by commas (0,1,2,3), or identifiers that all begin with "
            "GPU- or MIG-.",
        )
        return
    gpus = machine.gpus
    if isinstance(gpus, tuple) and gpus and not value.strip():
        yield error(
            f"{saw} is empty",
            f"an empty value hides all {len(gpus)} GPUs; unset, they would all be visible.",
            "unset CUDA_VISIBLE_DEVICES, or name the GPUs.",
        )
        return
    if not devices:
        yield ok(f"{saw} hides all GPUs" + ("" if gpus else "; there are none"))
        return
    if isinstance(gpus, tuple):
        there = len(machine.visible)
        if there < len(devices):
            yield error(
                f"{saw} names {devices[there]!r}; {len(gpus)} GPUs are installed",
                "CUDA stops at the first GPU that does not exist: "
                f"{there} of {len(devices)} are visible, and ranks double up on them.",
                "name GPUs that nvidia-smi lists.",
            )
            return
    yield ok(f"{saw}: {seen}")


def _cleaned(value: str) -> str:
    return ",".join(dict.fromkeys(element.strip() for element in value.split(",")))


def against_processes(machine: Machine) -> Iterator[Result]:
    """Visible GPUs against the number of processes."""
    if isinstance(machine.gpus, Unknown):
        yield skipped(machine.gpus.reason)
        return
    there, processes = machine.gpu_count, machine.processes
    gpus = f"{there or 'no'} GPU{'s' * (there != 1)} visible"
    if processes is None:
        yield ok(f"{gpus}; no number of processes given (--num-processes, or a configuration)")
        return
    saw = f"{gpus}, {processes} process{'es' * (processes != 1)} on this machine"
    if machine.options.num_processes is None:
        yield ok(f"{gpus}; the configuration's {processes} processes are judged with it")
        return
    if processes <= there or (processes == 1 and there == 0):
        yield ok(saw)
    elif there == 0:
        yield error(
            saw,
            f"without GPUs accelerate starts {processes} processes that do not know each other: "
            "each is rank 0 of 1, trains on all the data and writes the same files.",
            "run on a machine with GPUs, or on one process, or with gloo: "
            "ACCELERATE_USE_CPU=true torchrun --nproc-per-node N.",
        )
    else:
        yield error(
            saw,
            f"accelerate takes local rank % {there}: rank {there} shares GPU 0 with rank 0, "
            "without a word; NCCL then fails (Duplicate GPU detected) or memory runs out.",
            f"start {there} process{'es' * (there != 1)}, or make {processes} GPUs visible.",
        )


def peer_access(machine: Machine) -> Iterator[Result]:
    """Can the GPUs read each other's memory."""
    facts = machine.torch
    if isinstance(facts, Unknown):
        yield skipped(facts.reason)
        return
    if facts.device_count < 2:
        yield skipped(f"needs two GPUs, {facts.device_count or 'none'} is visible")
        return
    if not facts.no_peer_access:
        yield ok(f"all {facts.device_count} GPUs reach each other's memory")
        return
    pairs = ", ".join(f"{a}-{b}" for a, b in facts.no_peer_access if a < b)
    # accelerate 1.15.0 utils/environment.py, check_cuda_p2p_ib_support: it refuses RTX 40 cards
    # on drivers before 550.40.07 unless both variables are set.
    yield warning(
        f"no peer access between GPUs {pairs}",
        "NCCL copies through host memory: gradients take several times as long.",
        "fine for cards without NVLink; else look at nvidia-smi topo -p2p r, at ACS and the IOMMU "
        "(which can make NCCL hang too: then NCCL_P2P_DISABLE=1).",
    )


CHECKS = (
    Check("torch-build", "devices", torch_build),
    Check("cuda-visible-devices", "devices", visible_devices),
    Check("gpus-and-processes", "devices", against_processes),
    Check("peer-access", "devices", peer_access),
)
