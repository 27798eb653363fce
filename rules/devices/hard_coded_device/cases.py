"""Devices that are the same for every rank, and others."""

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from accelerate import Accelerator, PartialState
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from transformers import HfArgumentParser, TrainingArguments

# Bugs


def first_gpu(model):
    dist.barrier()
    model = model.to("cuda:0")  # expect: DL503
    return DDP(model)


def by_index(loss):
    loss = loss.cuda(0)  # expect: DL503
    dist.all_reduce(loss)
    return loss


def as_device(x):
    # the first one: nobody calls set_device here
    device = torch.device("cuda:0")  # expect: DL503
    dist.all_reduce(x)
    return x.to(device)


def current(model):
    dist.init_process_group("nccl")
    return model.cuda()  # expect: DL503


def accelerated(x):
    accelerator = Accelerator()
    x = x.to("cuda:0")  # expect: DL503
    return accelerator.gather(x)


def first_for_all(model):
    dist.init_process_group("nccl")
    torch.cuda.set_device(0)  # expect: DL503
    return DDP(model)


def no_pipeline(model):
    dist.barrier()
    if getattr(model, "is_sequential_parallel", False):
        return model
    return model.to("cuda:0")  # expect: DL503


def by_a_variable(x):
    device = "cuda:0"
    x = x.to(device)  # expect: DL503
    dist.all_reduce(x)
    return x


@dataclass
class Options(TrainingArguments):
    folder: str = ""


def options_of_the_run():
    parser = HfArgumentParser((Paths, Options))
    paths, options = parser.parse_args_into_dataclasses()
    return paths, options


@dataclass
class Paths:
    folder: str = ""


def above_the_arguments(model):
    # what is chosen further down is too late for it
    dist.init_process_group("nccl")
    model.cuda()  # expect: DL503
    return model, Options(folder="out")


def first_beside_the_arguments(model):
    dist.init_process_group("nccl")
    paths, options = options_of_the_run()
    return model.to("cuda:0"), paths, options  # expect: DL503


def under_a_test(model, evaluates):
    dist.init_process_group("nccl")
    if evaluates:
        options_of_the_run()
    return model.cuda()  # expect: DL503


def paths_alone(model):
    dist.init_process_group("nccl")
    (paths,) = HfArgumentParser(Paths).parse_args_into_dataclasses()
    return model.cuda(), paths  # expect: DL503


def collated(batch):
    # Chinese-Vicuna tools/application/chatglm_lora_finetune.py:131
    device = "cuda:0"
    mask = torch.ones((len(batch), 8), device=device)  # expect: DL503
    return {"mask": mask, "ids": torch.stack(batch).to(device)}


def loaded(data, model):
    accelerator = Accelerator()
    accelerator.wait_for_everyone()
    loader = DataLoader(data, batch_size=4, collate_fn=collated)
    return accelerator.prepare(model, loader)


# Correct


def below_the_arguments(model, teacher):
    # LLM-QAT 5ef1289 train.py:71: the arguments make the rank's device the current one when they are constructed
    dist.init_process_group("nccl")
    paths, options = options_of_the_run()
    if options.folder:
        teacher.cuda()
    return model.to("cuda"), paths


def below_the_state(model):
    dist.init_process_group("nccl")
    PartialState()
    return model.cuda()


def collated_on_the_cpu(batch):
    return {"mask": torch.ones((len(batch), 8), device="cpu"), "ids": torch.stack(batch)}


def loaded_on_the_cpu(data, model):
    accelerator = Accelerator()
    accelerator.wait_for_everyone()
    loader = DataLoader(data, batch_size=4, collate_fn=collated_on_the_cpu)
    return accelerator.prepare(model, loader)


def collated_for_one(batch):
    return torch.stack(batch).to("cuda:0")


def loaded_by_one(data):
    return DataLoader(data, batch_size=4, collate_fn=collated_for_one)


def by_a_variable_of_this_rank(x):
    device = "cuda:0"
    if dist.get_rank() > 0:
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    dist.barrier()
    return x.to(device)


def first_of_a_pipeline(model, xpu):
    # trl trl/trainer/ppo_trainer.py: one process has all GPUs, and DDP has no such attribute.
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if not getattr(model, "is_sequential_parallel", False):
        return accelerator.device
    else:
        if xpu:
            return torch.device("xpu:0")
        return torch.device("cuda:0")


def mapped(model, batch):
    dist.barrier()
    if hasattr(model, "hf_device_map") and len(model.hf_device_map) > 1:
        batch = batch.to("cuda:0")
    return model(batch)


def local(model):
    dist.barrier()
    return model.to(f"cuda:{int(os.environ['LOCAL_RANK'])}")


def one_process(model):
    return model.to("cuda:0")


def main_only(x):
    dist.barrier()
    if dist.get_rank() == 0:
        x = x.to("cuda:0")
    return x


def current_of_the_process(x):
    dist.all_reduce(x)
    return x.to("cuda")


def on_the_cpu(x):
    dist.all_reduce(x)
    return x.to("cpu")


def chosen_for_one_process(model):
    torch.cuda.set_device(0)
    return model.cuda()


def in_one_process_or_several(several):
    # MONAI research-contributions 21ed8e5 auto3dseg/algorithm_templates/dints/scripts/search.py:232
    if several:
        dist.init_process_group("nccl")
        world_size = dist.get_world_size()
    else:
        world_size = 1
    return torch.device(f"cuda:{os.environ['LOCAL_RANK']}") if world_size > 1 else torch.device("cuda:0")


def on_few_or_many(several, batches):
    dist.init_process_group("nccl")
    size = len(batches) if several else 1
    return torch.device(f"cuda:{os.environ['LOCAL_RANK']}") if size > 1 else torch.device("cuda:0")  # expect: DL503


def behind_a_mesh(model):
    # awsome-distributed-training 7217859 3.test_cases/pytorch/FSDP/src/train.py:195
    dist.init_process_group("nccl")
    fully_shard(model)
    model.to_empty(device=torch.device("cuda"))


def behind_a_mesh_of_their_own(x):
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    dist.all_reduce(x)
    return x.to("cuda"), mesh


def behind_a_mesh_of_cpus(x):
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    dist.all_reduce(x)
    return x.to("cuda"), mesh  # expect: DL503


def in_front_of_the_mesh(x, model):
    dist.init_process_group("nccl")
    dist.all_reduce(x)
    x = x.to("cuda")  # expect: DL503
    fully_shard(model)
    return x
