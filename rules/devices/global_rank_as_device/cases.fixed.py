"""Devices by the rank of the job and by that of the machine."""

import os

import torch
import torch.distributed as dist
from accelerate import Accelerator
from distlint.runtime import rank_info
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DataParallel
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def current():
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank_info().local_rank)  # expect: DL504


def current_beside_one_process_alone():
    # SadTalker cd4c046 src/face3d/models/arcface_torch/train.py:27: this machine's address where no launcher is
    try:
        world_size = int(os.environ["WORLD_SIZE"])
        dist.init_process_group("nccl")
    except KeyError:
        world_size = 1
        dist.init_process_group("nccl", init_method="tcp://127.0.0.1:12584", rank=0, world_size=1)
    # started by torchrun, where it was mp.spawn
    torch.cuda.set_device(rank_info().local_rank)  # expect: DL504
    return world_size


def freed():
    # calvin fa03f01 calvin_models/calvin_agent/rollout/rollout_video.py:140
    return torch.cuda.memory_reserved(rank_info().local_rank)  # expect: DL504


def own_rank():
    return dist.get_rank() if dist.is_initialized() else 0


def by_a_function_of_ones_own(model):
    torch.cuda.set_device(rank_info().local_rank)  # expect: DL504
    return DDP(model, device_ids=[rank_info().local_rank])


def moves_to_the_current_device(model, batch):
    torch.cuda.set_device(rank_info().local_rank)  # expect: DL504
    return model(batch.to("cuda"))


def wrapped(model):
    rank = rank_info().local_rank
    return DDP(model, device_ids=[rank])  # expect: DL504


def for_devices_alone(model):
    # RT-DETR 068dfde rtdetr_pytorch/src/misc/dist.py:100
    rank = rank_info().local_rank
    return DDP(model, device_ids=[rank], output_device=rank)  # expect: DL504


def sharded_on_its_device(model):
    # llmpy a18cf29 pre-training/train_fsdp.py:114
    rank = rank_info().local_rank
    torch.cuda.set_device(rank)  # expect: DL504
    return FullyShardedDataParallel(model, device_id=rank)


def sharded_on_the_local_one(model):
    return FullyShardedDataParallel(model, device_id=int(os.environ["LOCAL_RANK"]))


def wrapped_one_way_or_the_other(model, threads, unused):
    # RT-DETR 068dfde rtdetrv2_pytorch/src/misc/dist_utils.py:138
    rank = dist.get_rank()
    local_rank = rank_info().local_rank
    if threads:
        model = DataParallel(model, device_ids=[local_rank], output_device=local_rank)  # expect: DL504
    else:
        model = DDP(model, device_ids=[local_rank], output_device=local_rank, find_unused_parameters=unused)
    print(rank)
    return model


class Trainer:
    def __init__(self, net, local_rank=0):
        self.local_rank = local_rank
        self.net = DDP(net, device_ids=[local_rank])


class Loading:
    def __init__(self, index):
        self.index = index

    def load(self, path):
        return torch.load(path, map_location=f"cuda:{self.index}")


def moved(net, index):
    return net.to(f"cuda:{index}")


def moved_by_another(net, index):
    return moved(net, index)


def numbered(index):
    print("worker", index)


def handed_to_a_trainer(net):
    # XMem f3b841d train.py:41: with this one alone repaired, the second machine fails in DDP
    local_rank = dist.get_rank()
    torch.cuda.set_device(local_rank)  # shown only  # expect: DL504
    return Trainer(net, local_rank=local_rank)


def handed_to_what_loads(path):
    rank = dist.get_rank()
    torch.cuda.set_device(rank)  # shown only  # expect: DL504
    return Loading(rank).load(path)


def handed_through_a_function(net):
    rank = dist.get_rank()
    torch.cuda.set_device(rank)  # shown only  # expect: DL504
    return moved_by_another(net, rank)


def handed_to_somebody(net, engine):
    rank = dist.get_rank()
    torch.cuda.set_device(rank)  # shown only  # expect: DL504
    return engine.start(net, local_rank=rank)


def handed_as_a_number(net):
    rank = dist.get_rank()
    torch.cuda.set_device(rank_info().local_rank)  # expect: DL504
    numbered(rank)
    return net


def among_the_gpus_of_a_setting(configs):
    # wespeaker dfa7419 wespeaker/ssl/bin/train_dino.py:55
    rank = int(os.environ["RANK"])
    gpu = int(configs["gpus"][rank])
    torch.cuda.set_device(gpu)  # expect: DL504


def among_the_gpus_of_an_option(net, args):
    rank = rank_info().local_rank
    return net.to(torch.device("cuda", args.gpu_ids[rank]))  # expect: DL504


def written_over(net, args):
    torch.cuda.set_device(args.local_rank)
    args.local_rank = dist.get_rank()
    return DDP(net, device_ids=[args.local_rank])  # expect: DL504


class KeepsOne:
    def __init__(self):
        self.local_rank = dist.get_rank()

    def move(self, net):
        return net.to(f"cuda:{self.local_rank}")  # expect: DL504


def meeting():
    dist.barrier(device_ids=[rank_info().local_rank])  # expect: DL504


def meeting_of_local_ranks():
    dist.barrier(device_ids=[int(os.environ["LOCAL_RANK"])])


def by_text(model):
    accelerator = Accelerator()
    device = f"cuda:{accelerator.local_process_index}"  # expect: DL504
    return model.to(device)


def by_environment(model):
    rank = rank_info().local_rank
    # one GPU each
    device = torch.device("cuda", rank)  # expect: DL504
    return model.to(device)


def by_rank_text(model):
    rank = rank_info().local_rank
    return model.to(f"cuda:{rank}")  # expect: DL504


def loaded(path):
    rank = rank_info().local_rank
    return torch.load(path, map_location="cuda:" + str(rank))  # expect: DL504


def in_both_arms(net):
    # finetrainers examples/_legacy/training/cogvideox/prepare_dataset.py:480: the file's own local rank
    if "LOCAL_RANK" in os.environ:
        local_rank = int(os.environ["LOCAL_RANK"])
        dist.init_process_group(backend="nccl")
        rank = dist.get_rank()
    else:
        local_rank = 0
        rank = 0
    device = f"cuda:{local_rank}"  # expect: DL504
    return net.to(device), local_rank


def before_the_group(net):
    # Emu 13c395e Emu1/mm_eval/__init__.py:58
    if not dist.is_initialized():
        dist.init_process_group("nccl")
        torch.cuda.set_device(rank_info().local_rank)  # expect: DL504
    print(dist.get_rank())
    return net.to(torch.device(f"cuda:{rank_info().local_rank}"))


def with_or_without(net):
    # contrastors 613ddfd src/contrastors/eval/imagenet/imagenet.py:134
    local_rank = rank_info().local_rank
    torch.cuda.set_device(local_rank)  # expect: DL504
    device = torch.device(f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu")
    return net.to(device)


def of_a_device_before_the_group(net, other):
    if not dist.is_initialized():
        dist.init_process_group("nccl")
        device = torch.device(f"cuda:{rank_info().local_rank}")  # expect: DL504
        net, other = net.to(device), other.to(device)
    torch.cuda.set_device(rank_info().local_rank)
    return net, other


class Backend:
    def __init__(self):
        self.accelerator = Accelerator()

    @property
    def rank(self):
        return self.accelerator.process_index


class Rows:
    # finetrainers finetrainers/data/precomputation.py:336.
    def __init__(self, rank, folder):
        self._rank = rank
        self.folder = folder

    def __iter__(self):
        place = torch.device(self._rank)  # expect: DL504
        yield torch.load(self.folder, map_location=place)


def rows_of(rank, folder):
    return Rows(rank, folder)


def rows_of_a_backend(folder):
    backend = Backend()
    return rows_of(rank=backend.rank, folder=folder)


class TestOfRows:
    def set_up(self):
        self.rank = 0

    def test(self, folder):
        return rows_of(self.rank, folder)


# Correct


class LocalRows:
    def __init__(self, rank, folder):
        self._rank = rank
        self.folder = folder

    def __iter__(self):
        place = torch.device(self._rank)
        yield torch.load(self.folder, map_location=place)


def local_rows(folder):
    return LocalRows(int(os.environ["LOCAL_RANK"]), folder)


class RowsOfSomebody:
    def __init__(self, rank, folder):
        self._rank = rank
        self.folder = folder

    def __iter__(self):
        place = torch.device(self._rank)
        yield torch.load(self.folder, map_location=place)


def rows_of_somebody(device_index, folder):
    first = RowsOfSomebody(dist.get_rank(), folder)
    return first, RowsOfSomebody(device_index, folder)


class RowsThatNobodyMakes:
    def __init__(self, rank, folder):
        self._rank = rank
        self.folder = folder

    def __iter__(self):
        place = torch.device(self._rank)
        yield torch.load(self.folder, map_location=place)


def local(model):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    return DDP(model, device_ids=[local_rank])


def local_under_another_name(model):
    rank = int(os.environ["LOCAL_RANK"])
    return model.to(f"cuda:{rank}")


def accelerated(model):
    accelerator = Accelerator()
    torch.cuda.set_device(accelerator.local_process_index)
    return model.to(accelerator.device)


def spawned(rank, world_size):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


def group(model):
    rank = dist.get_rank()
    return dist.new_group([rank, 0])


def on_the_host(model):
    rank = dist.get_rank()
    return model.to("cpu" if rank else "cuda")


def on_one_machine_only(num_nodes):
    if num_nodes > 1:
        raise NotImplementedError("more than one node is not supported")
    return torch.device(f"cuda:{dist.get_rank()}")


def of_a_worker(model, gpu):
    gpu = gpu % torch.cuda.device_count()
    return DDP(model, device_ids=[gpu], output_device=gpu)


def local_in_both_arms(net):
    if "LOCAL_RANK" in os.environ:
        local_rank = int(os.environ["LOCAL_RANK"])
        dist.init_process_group(backend="nccl")
    else:
        local_rank = 0
    return net.to(f"cuda:{local_rank}")


def local_with_or_without(net):
    rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    print(f"cuda of {rank}")
    return net.to(torch.device(f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu"))


def among_the_gpus_of_its_machine(configs):
    torch.cuda.set_device(int(configs["gpus"][int(os.environ["LOCAL_RANK"])]))


def its_own_host(args):
    return torch.device("cuda", args.placements[dist.get_rank()])


def counted_on_its_machine(args, net):
    args.local_rank = dist.get_rank() - args.node * args.gpus
    return DDP(net, device_ids=[args.local_rank])


def left_over(args, net):
    args.local_rank = dist.get_rank() % int(os.environ["LOCAL_WORLD_SIZE"])
    return DDP(net, device_ids=[args.local_rank])


def of_a_list(gpu_ids):
    # LLaMA2-Accessory 3777c43 accessory/model/multi_gpu_wrapper.py:78: one entry for each rank
    rank = dist.get_rank()
    torch.cuda.set_device(gpu_ids[rank - 1])


_OF_MACHINE = None


def rank_on_machine():
    if _OF_MACHINE is None:
        return dist.get_rank()
    return dist.get_rank(group=_OF_MACHINE)


class WithAGroupOfEachMachine:
    # YOLOX 6ddff48 yolox/core/trainer.py:50
    def __init__(self, model):
        dist.barrier()
        self.local_rank = rank_on_machine()
        self.model = model

    def start(self):
        torch.cuda.set_device(self.local_rank)
        self.model.cuda()


def rank_of(kind="machine"):
    rank = dist.get_rank() if dist.is_initialized() else 0
    if kind == "machine":
        return rank % torch.cuda.device_count()
    return rank


class KeepsWhatIsLeftOver:
    # Versatile-Diffusion cf0f4a2 lib/log_service.py:48: a place in one machine, whatever keeps it; information
    def __init__(self):
        self.rank = rank_of("machine")

    def mean(self, total):
        return total.to(self.rank)  # expect: DL504


class KeepsADeviceOfTheJob:
    def __init__(self):
        self.rank = dist.get_rank()
        self.device = torch.device(f"cuda:{rank_info().local_rank}")  # expect: DL504

    def move(self, batch):
        return batch.to(self.device)


class KeepsADeviceForNobody:
    # SLAM-LLM a68e78f examples/s2s/utils/cosyvoice/utils/executor.py:33
    def __init__(self):
        self.rank = dist.get_rank()
        self.device = torch.device(f"cuda:{self.rank}")

    def step(self, batch):
        return batch.cuda()


def many_devices(model, data):
    # waifu-diffusion trainer/diffusers_trainer.py:679
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    local_rank = rank_info().local_rank
    torch.cuda.set_device(local_rank)  # expect: DL504
    if rank == 0:
        print(len(data))
    model.encoder = DDP(model.encoder, device_ids=[local_rank], output_device=local_rank)
    model.decoder = DDP(model.decoder, device_ids=[local_rank], output_device=local_rank)


def many_devices_by_another_name(model, args):
    # NeuralSpeech 8cf4fbc AdapterASR/train.py:377
    dist.init_process_group("nccl")
    local_rank = rank_info().local_rank
    args.is_first = dist.get_rank() == 0
    torch.cuda.set_device(local_rank)  # expect: DL504
    return DDP(model, device_ids=[local_rank], output_device=local_rank)


def rank_asked_for_each_device(model, unused):
    # ProphetNet 5cf70eb AR-diffusion/train_utils/trainer.py:103
    dist.init_process_group("nccl")
    local_rank = rank_info().local_rank
    if unused:
        model = DDP(model, device_ids=[local_rank], output_device=local_rank, find_unused_parameters=True)  # expect: DL504
    else:
        model = DDP(model, device_ids=[local_rank], output_device=local_rank)
    return model


def on_the_device_of_its_entry(net, cfg):
    # ULTRA 427966a ultra/util.py:107: an entry for each rank of all machines
    world_size = dist.get_world_size()
    if cfg.train.devices is not None and len(cfg.train.devices) != world_size:
        raise ValueError(world_size)
    return net.to(torch.device(cfg.train.devices[dist.get_rank()]))


def met_without_a_list():
    # video-SALMONN-2 61faec0 video_SALMONN2_plus/qwenvl/train/train_qwen.py:208: taken for a list alone.
    dist.barrier(device_ids=dist.get_rank())
