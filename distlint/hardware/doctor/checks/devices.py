"""GPUs: the build of torch against the driver, what is visible, and who can reach whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, TorchFacts, Unknown
from distlint.hardware.gpus import Gpu
from distlint.hardware.memory.units import gib
from distlint.hardware.visible_devices import read_visible_devices


@dataclass(frozen=True, slots=True)
class DriverMessage:
    """A row: words of nvidia-smi's answer, what they mean for a run, and what to do."""

    words: str
    why: str
    do: str


# What nvidia-smi says when it cannot answer for any GPU (texts of NVML: nvmlErrorString, and of
# nvidia-smi 535 to 580); the last row is for all others.
DRIVER_MESSAGES: tuple[DriverMessage, ...] = (
    DriverMessage(
        "Driver/library version mismatch",
        "the driver was updated and the kernel still runs the old one: CUDA does not start, and "
        "every rank falls back to the CPU or fails.",
        "restart the machine, or unload the nvidia modules (modprobe -r) and load them again; in a "
        "container, restart it.",
    ),
    DriverMessage(
        "couldn't communicate with the NVIDIA driver",
        "the kernel module is not loaded, often after a kernel update: CUDA does not start.",
        "modprobe nvidia; if that fails, install the driver again for this kernel (dkms status).",
    ),
    DriverMessage(
        "Driver Not Loaded",
        "the kernel module is not loaded: CUDA does not start.",
        "modprobe nvidia; if that fails, install the driver again for this kernel (dkms status).",
    ),
    DriverMessage(
        "Insufficient Permissions",
        "this user may not open /dev/nvidia*: CUDA does not start.",
        "look at the groups of the device files; in a container, start it with --gpus or the "
        "NVIDIA runtime.",
    ),
    DriverMessage(
        "Failed to initialize NVML: Unknown Error",
        "the container lost its access to the devices (systemd reloaded its cgroup rules): CUDA "
        "does not start in new processes.",
        "restart the container; give it the devices by --device, or use cgroupfs.",
    ),
    DriverMessage(
        "Failed to initialize NVML: Not Supported",
        "the library found no device that it supports: CUDA does not start.",
        "look at lspci and dmesg for the GPU and its driver.",
    ),
    DriverMessage(
        "Unable to determine the device handle",
        "a GPU has fallen off the bus: every process that touches it fails or hangs.",
        "look for Xid messages in dmesg; restart the machine or drain it.",
    ),
    DriverMessage(
        "did not answer",
        "a GPU that the driver has lost hangs every process that touches it.",
        "look for Xid messages in dmesg; restart the machine or drain it.",
    ),
    DriverMessage(
        "",
        "the driver does not answer for its GPUs: CUDA may not start, or hang.",
        "run nvidia-smi by hand and look at dmesg.",
    ),
)


def _unanswered(reason: str) -> Result:
    row = next(row for row in DRIVER_MESSAGES if row.words.lower() in reason.lower())
    return error(reason, row.why, row.do)


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
    gpus = _reached(machine)
    driver = gpus[0].driver if gpus else ""
    saw = f"torch {facts.version} ({build})" + (f", driver {driver}" if driver else "")
    if not gpus:
        if isinstance(machine.gpus, Unknown):
            yield ok(f"{saw}; the driver does not answer (see gpus)")
        elif facts.cuda_build and not facts.cuda_available:
            yield ok(f"{saw}; no NVIDIA GPU here, so it runs on the CPU")
        else:
            yield ok(saw)
        return
    if facts.cuda_build is None and facts.hip_build is None:
        names = Counter(gpu.name for gpu in gpus)
        kinds = ", ".join(f"{count} x {name}" for name, count in names.items())
        yield error(
            f"{saw}; {kinds} installed",
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


def _reached(machine: Machine) -> tuple[Gpu, ...]:
    return () if isinstance(machine.gpus, Unknown) else tuple(g for g in machine.gpus if not g.lost)


def all_alike(machine: Machine) -> Iterator[Result]:
    """A driver that does not answer, GPUs that it has lost, visible GPUs of several kinds."""
    if isinstance(machine.gpus, Unknown):
        reason = machine.gpus.reason
        yield _unanswered(reason) if machine.gpus.failed else skipped(reason)
        return
    found = [*_lost(machine.gpus), *_mixed(machine)]
    if found:
        yield from found
    elif not machine.visible:
        yield skipped("no GPU is visible")
    else:
        count, gpu = len(machine.visible), machine.visible[0]
        yield ok(f"{count} x {gpu.name}" + (f", {gib(gpu.memory)} GiB" if gpu.memory else ""))


def _lost(gpus: tuple[Gpu, ...]) -> Iterator[Result]:
    lost = [gpu for gpu in gpus if gpu.lost]
    if lost:
        shown = ", ".join(
            f"{gpu.name if gpu.index < 0 else f'GPU {gpu.index}'} ({gpu.lost})" for gpu in lost
        )
        yield error(
            f"nvidia-smi has lost {shown}; {len(gpus) - len(lost)} of {len(gpus)} answer",
            "CUDA does not start while a GPU is lost, or hides it: the ranks fail, hang, or double "
            "up on the others.",
            "look for Xid messages in dmesg; reset the GPU (nvidia-smi -r -i N) or restart the "
            "machine.",
        )


def _mixed(machine: Machine) -> Iterator[Result]:
    kinds = Counter((gpu.name, gpu.memory) for gpu in machine.visible)
    memories = [gpu.memory for gpu in machine.visible]
    one_name = len({name for name, _ in kinds}) < 2
    # ECC takes a few percent of one card's memory and not of another's.
    if one_name and max(memories, default=0) <= 1.1 * min(memories, default=0):
        return
    shown = ", ".join(f"{n} x {name} ({gib(memory)} GiB)" for (name, memory), n in kinds.items())
    smallest = min((gpu for gpu in machine.visible), key=lambda gpu: (gpu.memory, gpu.compute))
    alike = [g.index for g in machine.visible if (g.name, g.memory) == kinds.most_common(1)[0][0]]
    yield warning(
        f"the visible GPUs differ: {shown}",
        "every collective waits for the slowest, all ranks have the same batch, and the smallest "
        f"({smallest.name}) runs out of memory first.",
        f"take GPUs of one kind: CUDA_VISIBLE_DEVICES={','.join(map(str, alike))}, with "
        "CUDA_DEVICE_ORDER=PCI_BUS_ID.",
    )


def device_order(machine: Machine) -> Iterator[Result]:
    """CUDA_DEVICE_ORDER: which number means which GPU.

    CUDA C++ Programming Guide, "CUDA Environment Variables": FASTEST_FIRST is the default and
    differs from nvidia-smi's order, that of the bus, where GPUs of several kinds are installed.
    """
    order = machine.environ.get("CUDA_DEVICE_ORDER")
    if order is not None and order not in ("FASTEST_FIRST", "PCI_BUS_ID"):
        yield error(
            f"CUDA_DEVICE_ORDER={order}",
            "CUDA does not know the value and numbers the fastest GPU first: numbers mean other "
            "GPUs than in nvidia-smi.",
            "CUDA_DEVICE_ORDER=PCI_BUS_ID",
        )
        return
    names = {gpu.name for gpu in _reached(machine)}
    by_number = machine.environ.get("CUDA_VISIBLE_DEVICES") or machine.accelerate.get("gpu_ids")
    numbered = isinstance(by_number, str) and by_number[:1].isdigit()
    if len(names) > 1 and order != "PCI_BUS_ID" and numbered:
        yield warning(
            f"GPUs are chosen by number ({by_number}), {len(names)} kinds are installed and "
            f"CUDA_DEVICE_ORDER is {order or 'not set'}",
            "CUDA numbers the fastest GPU first, nvidia-smi by the bus: a number can mean another "
            "GPU than the one you looked at.",
            "CUDA_DEVICE_ORDER=PCI_BUS_ID",
        )
    else:
        yield ok(f"CUDA_DEVICE_ORDER={order}" if order else "CUDA_DEVICE_ORDER is not set")


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
    Check("gpus", "devices", all_alike),
    Check("cuda-visible-devices", "devices", visible_devices),
    Check("cuda-device-order", "devices", device_order),
    Check("gpus-and-processes", "devices", against_processes),
    Check("peer-access", "devices", peer_access),
)
