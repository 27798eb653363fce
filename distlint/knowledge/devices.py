"""Devices: what chooses one, and what starts CUDA."""

from typing import NamedTuple

VISIBLE_DEVICES: tuple[str, ...] = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
)
"""Environment variables that choose the devices which a process sees. Read once, when the driver
starts: later changes reach child processes only."""

SPREAD_MODELS: frozenset[str] = frozenset(
    {
        "hf_device_map",  # accelerate 1.15.0 accelerate/big_modeling.py:516
        "is_sequential_parallel",  # trl 0.11.4 trl/models/modeling_base.py:93
        "model_parallel",  # transformers 5.23.0 transformers/trainer.py:463
        "is_model_parallel",
    }
)
"""Attributes of a model whose layers one process has spread over several GPUs. A wrapper of several processes has
none of them."""


MAKE_CURRENT: dict[str, str] = {
    # `PartialState.__init__` calls `set_device()`, where a launcher says that there are several processes.
    "accelerate.PartialState": "accelerate 1.15.0 accelerate/state.py:309, :819",
    "accelerate.Accelerator": "accelerate 1.15.0 accelerate/state.py:309, :819",
    # `__post_init__` reads `self.device`, which makes a `PartialState`: when the arguments are made, not when they are read.
    "transformers.TrainingArguments": "transformers 5.23.0 transformers/training_args.py:1661, :1901",
    # A mesh of GPUs does while CUDA has not started: by LOCAL_RANK, else by the rank. `fully_shard` makes one where it gets none.
    "torch.distributed.device_mesh.init_device_mesh": "torch 2.13.0 torch/distributed/device_mesh.py:460",
    "torch.distributed.device_mesh.DeviceMesh": "torch 2.13.0 torch/distributed/device_mesh.py:460",
    "torch.distributed.fsdp.fully_shard": "torch 2.13.0 torch/distributed/fsdp/_fully_shard/_fsdp_init.py:206",
}
"""What makes the GPU of a process, by its local rank, the current one when it is constructed, with its source."""


class DeviceCall(NamedTuple):
    """A call that takes or chooses a device."""

    name: str
    source: str
    device: int | str = 0
    """Position of the device, or its keyword; "self" where the receiver moves."""
    keyword: str = "device"
    initialises: bool = False
    """Starts CUDA in this process: CUDA_VISIBLE_DEVICES has no effect afterwards."""


DEVICE_CALLS: dict[str, DeviceCall] = {
    row.name: row
    for row in (
        DeviceCall(
            "torch.cuda.set_device",
            "torch 2.13.0 torch/cuda/__init__.py:677",
            # needs the local rank
            initialises=True,
        ),
        DeviceCall(
            "torch.cuda.device", "torch 2.13.0 torch/cuda/__init__.py:642", initialises=True
        ),
        DeviceCall(
            "torch.device",
            "torch 2.13.0 torch/_C/__init__.pyi:105",
            # "cuda" is the current device, "cuda:0" the first for every rank
        ),
        DeviceCall(
            "torch.cuda.current_device",
            "torch 2.13.0 torch/cuda/__init__.py:1203",
            device="",
            initialises=True,
        ),
        DeviceCall(
            "torch.cuda.init",
            "torch 2.13.0 torch/cuda/__init__.py:487",
            device="",
            initialises=True,
        ),
        DeviceCall(
            "torch.cuda.synchronize",
            "torch 2.13.0 torch/cuda/__init__.py:1209",
            initialises=True,
            # waits for the device, not for other ranks
        ),
        DeviceCall(
            "torch.cuda.empty_cache",
            "torch 2.13.0 torch/cuda/memory.py:216",
            device="",
            # nothing before CUDA is initialised
        ),
        DeviceCall(
            "torch.cuda.get_device_name",
            "torch 2.13.0 torch/cuda/__init__.py:692",
            initialises=True,
        ),
        DeviceCall(
            "torch.cuda.get_device_properties",
            "torch 2.13.0 torch/cuda/__init__.py:725",
            initialises=True,
        ),
        DeviceCall(
            "torch.cuda.mem_get_info", "torch 2.13.0 torch/cuda/memory.py:846", initialises=True
        ),
        DeviceCall("torch.cuda.memory_allocated", "torch 2.13.0 torch/cuda/memory.py:533"),
        DeviceCall("torch.cuda.max_memory_allocated", "torch 2.13.0 torch/cuda/memory.py:550"),
        DeviceCall("torch.cuda.memory_reserved", "torch 2.13.0 torch/cuda/memory.py:571"),
        DeviceCall("torch.cuda.max_memory_reserved", "torch 2.13.0 torch/cuda/memory.py:586"),
        DeviceCall("torch.cuda.reset_peak_memory_stats", "torch 2.13.0 torch/cuda/memory.py:380"),
        DeviceCall(
            "torch.cuda.is_available",
            "torch 2.13.0 torch/cuda/__init__.py:169",
            device="",
            initialises=True,
            # reads the visible devices, which the driver then keeps, unless
            # PYTORCH_NVML_BASED_CUDA_CHECK=1
        ),
        DeviceCall(
            "torch.cuda.device_count",
            "torch 2.13.0 torch/cuda/__init__.py:1150",
            device="",
            # devices of this machine that this process sees; not the world size
        ),
        DeviceCall(
            "torch.accelerator.set_device_index",
            "torch 2.13.0 torch/accelerator/__init__.py:188",
            initialises=True,
        ),
        DeviceCall(
            "torch.accelerator.device_count",
            "torch 2.13.0 torch/accelerator/__init__.py:54",
            device="",
        ),
        DeviceCall(
            "torch.nn.Module.cuda",
            "torch 2.13.0 torch/nn/modules/module.py:1079",
            initialises=True,
            # without an argument the current device: cuda:0 until set_device()
        ),
        DeviceCall(
            "torch.Tensor.cuda",
            "torch 2.13.0 torch/_C/__init__.pyi:3873",
            initialises=True,
            # without an argument the current device
        ),
        DeviceCall("torch.nn.Module.to", "torch 2.13.0 torch/nn/modules/module.py:1254"),
        DeviceCall(
            "torch.nn.parallel.DistributedDataParallel",
            "torch 2.13.0 torch/nn/parallel/distributed.py:466",
            device=1,
            keyword="device_ids",
            # one device, the local rank's
        ),
        DeviceCall(
            "torch.distributed.barrier",
            "torch 2.13.0 torch/distributed/distributed_c10d.py:5284",
            device=2,
            keyword="device_ids",
            # one device, the local rank's, on which NCCL's barrier runs
        ),
        DeviceCall(
            "torch.nn.parallel.DataParallel",
            "torch 2.13.0 torch/nn/parallel/data_parallel.py:54",
            device=1,
            keyword="device_ids",
        ),
        DeviceCall(
            "torch.distributed.fsdp.FullyShardedDataParallel",
            "torch 2.13.0 torch/distributed/fsdp/fully_sharded_data_parallel.py:118",
            device=9,
            keyword="device_id",
        ),
        DeviceCall(
            "torch.distributed.init_process_group",
            "torch 2.13.0 torch/distributed/distributed_c10d.py:1666",
            device=8,
            keyword="device_id",
        ),
        DeviceCall(
            "torch.load",
            "torch 2.13.0 torch/serialization.py:1315",
            device=1,
            keyword="map_location",
            # without it tensors return to the device they were saved from, one for all ranks
        ),
    )
}
"""By qualified name."""

COUNTS: frozenset[str] = frozenset(
    {
        "torch.cuda.device_count",
        "torch.accelerator.device_count",
        "torch.xpu.device_count",
        "torch.npu.device_count",
        "accelerate.utils.get_gpu_info",
    }
)
"""Calls that count the devices of this machine: not ranks, and not model parallelism."""


SPREADING_MAPS: frozenset[str] = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
"""Values of `device_map` that spread one model over all visible devices: under a launcher every rank
does so, onto the same devices."""

TRAINER_MODELS: frozenset[str] = frozenset(
    {
        "model",
        "teacher_model",
        "ref_model",
        "reference_model",
        "reward_model",
        "value_model",
        "judge",
    }
)
"""Arguments of Trainers that are models, each of which every rank holds (transformers 5.23.0 transformers/trainer.py,
trl 1.16.0 trl/experimental/gkd/gkd_trainer.py:114, trl 0.20.0 trl/trainer/ppo_trainer.py:101)."""


LOCAL_INDEX_FIRST: frozenset[str] = frozenset(
    {"torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"}
)
"""Those that pass the local index as first argument (torch 2.13.0 torch/multiprocessing/spawn.py)."""

DEVICE_TYPES: frozenset[str] = frozenset({"cuda", "npu", "xpu", "hpu", "mlu", "musa"})
"""Types of devices that are counted on each machine (torch 2.13.0, `torch.device`)."""
