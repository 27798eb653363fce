"""The machine as the probes saw it: what the checks judge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from distlint.hardware.gpus import Gpu, visible_gpus

Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True)
class Unknown:
    """A probe that saw nothing.

    Attributes:
        reason: why, in words.
        failed: it should have seen something (it hung or crashed); else there was nothing to see.
    """

    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """What the command was asked; also what the probes need to know.

    Attributes:
        num_processes: processes to be started on this machine; None takes the configuration's.
        config_file: accelerate's configuration; None takes accelerate's default place.
        deepspeed_config: a DeepSpeed JSON; None takes the one that the configuration names.
        checkpoint_dir: where checkpoints will be written.
        shm_path: where shared memory is mounted.
        parameters: of the model to be trained, for the memory check.
        model_parallel: yes, no or decide.
        script: the training script, to be read (not run).
        model: a folder with a transformers config.json, or that file.
    """

    num_processes: int | None = None
    config_file: str | None = None
    deepspeed_config: str | None = None
    checkpoint_dir: str | None = None
    shm_path: str = "/dev/shm"
    parameters: int | None = None
    model_parallel: str = "decide"
    script: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TorchFacts:
    """What `import torch` tells. `cuda_error` is what CUDA said when it could not start."""

    version: str
    cuda_build: str | None
    hip_build: str | None
    cuda_available: bool
    cuda_error: str
    device_count: int
    architectures: tuple[str, ...]
    gloo: bool
    nccl: str | None
    """NCCL's version, None where the build has none."""
    no_peer_access: tuple[tuple[int, int], ...] = ()
    """Pairs of devices that cannot read each other's memory."""


@dataclass(frozen=True, slots=True)
class AllReduce:
    """Two or more processes that added their ranks: seconds it took, or what each failed with."""

    world_size: int
    seconds: float
    failure: str = ""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The file system at `shm_path`, in bytes."""

    path: str
    size: int
    free: int


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The host: limits are None where unlimited or where the platform has none.

    Attributes:
        cores: that this process may use (affinity, not the machine's).
        cpu_quota: of the container, in cores.
        memory: bytes of RAM, the container's limit where that is lower.
        open_files, locked_memory, processes: soft limits (`ulimit -n`, `-l` in bytes, `-u`).
        shared_memory: None where there is no such mount.
        interfaces: names of the network interfaces.
        launcher: the launcher among the ancestors of this process, None if there is none.
    """

    cores: int
    cpu_quota: float | None
    memory: int
    open_files: int | None
    locked_memory: int | None
    processes: int | None
    shared_memory: SharedMemory | None
    interfaces: tuple[str, ...]
    launcher: str | None
    infiniband: bool


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Where accelerate's configuration sends the ranks: main_process_ip and main_process_port.

    `error` says why the host does not resolve, `port_error` why the port cannot be listened on,
    `holder` who listens there; each is empty where there is nothing to say.
    """

    host: str
    error: str
    is_here: bool
    port: int
    port_error: str
    holder: str


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """Names and the port of the rendezvous.

    Attributes:
        own_name: whether this machine's own name resolves, and to what.
        master: addresses of MASTER_ADDR; None where the variable is unset.
        master_error: why it does not resolve.
        master_is_here: one of the addresses belongs to this machine.
        port: that was tried.
        port_error: why it cannot be listened on; empty where it can.
        holder: the process that listens there, by name; empty where there is none, or another
            user's.
        configured: the configuration's; None where it names neither host nor port.
    """

    own_addresses: tuple[str, ...]
    own_error: str
    master: tuple[str, ...] | None
    master_error: str
    master_is_here: bool
    port: int
    port_error: str
    holder: str = ""
    configured: Rendezvous | None = None


@dataclass(frozen=True, slots=True)
class StorageFacts:
    """A directory for checkpoints: bytes free, and whether a file could replace another."""

    path: str
    exists: bool
    free: int
    file_system: str
    write_error: str = ""
    rename_error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file that was looked for: its values, or what is wrong with the file.

    `source` says how it was found; `missing` that there is no file; `problem` that it cannot be
    read as a mapping; `unread` that this environment lacks what reads it.
    """

    path: str
    source: str
    values: Mapping[str, Any] = field(default_factory=dict)
    missing: bool = False
    problem: str = ""
    unread: str = ""


@dataclass(frozen=True, slots=True)
class ConfigFacts:
    """accelerate's configuration, and the DeepSpeed JSON that is used with it (None: no such)."""

    accelerate: ConfigFile
    deepspeed: ConfigFile | None


@dataclass(frozen=True, slots=True)
class Argument:
    """A value that the script hands to a call: `Accelerator(mixed_precision="fp16")`.

    `keyword` is empty for the call itself, which may have no argument whose value is known.
    """

    call: str
    keyword: str
    value: int | float | str | bool
    line: int


@dataclass(frozen=True, slots=True)
class ScriptFacts:
    """What stands in the script: arguments of calls, names of its classes. `problem`: unreadable."""

    path: str
    arguments: tuple[Argument, ...] = ()
    classes: frozenset[str] = frozenset()
    problem: str = ""

    def given(self, call: str, keyword: str = "") -> Argument | None:
        """The argument, where the script has exactly one value for it; None otherwise."""
        found = [a for a in self.arguments if (a.call, a.keyword) == (call, keyword)]
        return found[0] if found and len({one.value for one in found}) == 1 else None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model by its configuration and the source of its classes. `problem`: unreadable.

    Attributes:
        numbers: heads and layers, by the configuration's names.
        classes: all classes of the modeling files; empty where these are not there.
        blocks: `_no_split_modules` of all of them.
    """

    path: str
    model_type: str = ""
    numbers: Mapping[str, int] = field(default_factory=dict)
    classes: frozenset[str] = frozenset()
    blocks: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """An installed distribution and what it requires (the lines of its metadata without extras)."""

    name: str
    version: str
    requires: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """All that was seen. A field is Unknown where its probe saw nothing."""

    options: Options
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    gpus: tuple[Gpu, ...] | Unknown = ()
    torch: TorchFacts | Unknown = Unknown("torch was not looked for")
    gloo: AllReduce | Unknown = Unknown("not tried")
    nccl: AllReduce | Unknown = Unknown("not tried")
    host: HostFacts | Unknown = Unknown("the host was not looked at")
    network: NetworkFacts | Unknown = Unknown("the network was not looked at")
    storage: StorageFacts | Unknown = Unknown("no --checkpoint-dir was given")
    config: ConfigFacts | Unknown = Unknown("no configuration was looked for")
    packages: tuple[Package, ...] | Unknown = Unknown("packages were not looked at")
    script: ScriptFacts | Unknown = Unknown("no --script was given")
    model: ModelFacts | Unknown = Unknown("no --model was given")

    @property
    def visible(self) -> tuple[Gpu, ...]:
        """The GPUs that a process started here would see; none where they are unknown."""
        if isinstance(self.gpus, Unknown):
            return ()
        return visible_gpus(self.gpus, self.environ.get("CUDA_VISIBLE_DEVICES"))

    @property
    def gpu_count(self) -> int:
        """GPUs that torch would use: what torch says where it can be asked, else the driver."""
        if isinstance(self.torch, TorchFacts) and self.torch.cuda_available:
            return self.torch.device_count
        return len(self.visible)

    @property
    def accelerate(self) -> Mapping[str, Any]:
        """The values of accelerate's configuration; empty where there is no readable one."""
        if isinstance(self.config, Unknown):
            return {}
        return self.config.accelerate.values

    @property
    def processes(self) -> int | None:
        """Processes that are to run on this machine; None where nothing says."""
        if self.options.num_processes is not None:
            return self.options.num_processes
        total = self.accelerate.get("num_processes")
        if isinstance(total, int) and total > 0:
            return max(1, total // self.machines)
        return None

    @property
    def world_size(self) -> int | None:
        """Processes on all machines together; None where nothing says."""
        return None if self.processes is None else self.processes * self.machines

    @property
    def machines(self) -> int:
        """Machines that the configuration is for; 1 where nothing says."""
        machines = self.accelerate.get("num_machines")
        return machines if isinstance(machines, int) and machines > 0 else 1
