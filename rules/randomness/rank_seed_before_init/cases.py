"""Per-rank seeds before and after what ranks must build alike."""

import copy
import random

import torch
import torch.distributed as dist
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import DataLoaderConfiguration, DistributedDataParallelKwargs, set_seed
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from timm.utils import ModelEma
from transformers import AutoModelForCausalLM, Trainer


class Net(nn.Module):
    pass


def seed_all(seed, rank):
    random.seed(seed + rank)
    torch.manual_seed(seed + rank)


# Bugs


def sharded(seed):
    torch.manual_seed(seed + dist.get_rank())  # expect: DL402
    model = FSDP(Net())
    return model


def sharded_in_place(args):
    if args.seed is not None:
        # other noise on each rank
        torch.manual_seed(args.seed + dist.get_rank())  # expect: DL402
    model = Net().to("cuda")
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    return model, optimizer


def through_a_function(args):
    seed_all(args.seed, dist.get_rank())  # expect: DL402
    model = Net()
    model = FSDP(model)
    return model


def prepared(args, loader):
    accelerator = Accelerator()
    set_seed(args.seed, device_specific=True)  # expect: DL402
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    return model, optimizer, loader


def prepared_for_fsdp(args, config, loader):
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2))
    set_seed(args.seed + accelerator.process_index)  # expect: DL402
    model = AutoModelForCausalLM.from_config(config)
    model, loader = accelerator.prepare(model, loader)
    return model, loader


def seedable(args, name, loader):
    config = DataLoaderConfiguration(use_seedable_sampler=True)
    accelerator = Accelerator(dataloader_config=config)
    set_seed(args.seed, device_specific=True)  # expect: DL402
    model = AutoModelForCausalLM.from_pretrained(name)
    model, loader = accelerator.prepare(model, loader)
    return model, loader


def before_train(args, model, data):
    trainer = Trainer(model, args, train_dataset=data)
    set_seed(args.seed + args.process_index)  # expect: DL402
    trainer.train()


def averaged(args, loader, evaluate, train):
    torch.manual_seed(args.seed + dist.get_rank())  # expect: DL402
    model = Net()
    model_ema = ModelEma(model, decay=args.decay) if args.decay else None
    if args.distributed:
        model = DDP(model)
    for epoch in range(args.epochs):
        train(model, loader, model_ema)
        evaluate(loader, model_ema.ema)


def taught_by_a_copy(args, batches, validate):
    torch.manual_seed(args.seed + dist.get_rank())  # expect: DL402
    model = Net()
    model.cuda()
    teacher = copy.deepcopy(model)
    model = DDP(model)
    for batch in batches:
        model(batch)
        validate(teacher, batch)


# Correct


def averaged_on_rank_0(args, loader, evaluate):
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    model_ema = ModelEma(model)
    model = DDP(model)
    for epoch in range(args.epochs):
        model_ema.update(model)
        if dist.get_rank() == 0:
            evaluate(loader, model_ema.ema)


def copied_behind_the_wrap(args, loader, evaluate):
    torch.manual_seed(args.seed + dist.get_rank())
    model = DDP(Net())
    model_ema = ModelEma(model.module)
    evaluate(loader, model_ema.ema)


def made_equal_below(args, loader, evaluate):
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    teacher = copy.deepcopy(model)
    model = DDP(model)
    teacher.load_state_dict(model.module.state_dict())
    evaluate(loader, teacher)


def copy_of_loaded_weights(args, loader, evaluate):
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    model.load_state_dict(torch.load(args.weights))
    teacher = copy.deepcopy(model)
    model = DDP(model)
    evaluate(loader, teacher)


def saved_only(args, loader, evaluate):
    """deit 7e160fe main.py:337: rank 0's average is right, and nobody runs the others."""
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    model_ema = ModelEma(model)
    model = DDP(model)
    evaluate(loader, model)
    if dist.get_rank() == 0:
        torch.save(model_ema.state_dict(), args.path)


def replicated(seed):
    torch.manual_seed(seed + dist.get_rank())
    return DDP(Net())


def alike(seed):
    torch.manual_seed(seed)
    model = FSDP(Net())
    torch.manual_seed(seed + dist.get_rank())
    return model


def synchronised(seed):
    torch.manual_seed(seed + dist.get_rank())
    return FSDP(Net(), sync_module_states=True)


def pretrained(args, name, loader):
    accelerator = Accelerator()
    set_seed(args.seed, device_specific=True)
    model = AutoModelForCausalLM.from_pretrained(name)
    model, loader = accelerator.prepare(model, loader)
    return model, loader


def replicated_by_accelerate(args, loader):
    accelerator = Accelerator(kwargs_handlers=[DistributedDataParallelKwargs()])
    set_seed(args.seed, device_specific=True)
    model = Net()
    model, loader = accelerator.prepare(model, loader)
    return model, loader


def built_before(seed):
    model = Net()
    torch.manual_seed(seed + dist.get_rank())
    return FSDP(model)


def loaded(seed, path):
    torch.manual_seed(seed + dist.get_rank())
    model = Net()
    model.load_state_dict(torch.load(path, map_location="cpu"))
    return FSDP(model)


def other_streams(seed):
    random.seed(seed + dist.get_rank())
    return FSDP(Net())


def with_data_seed(args, name, loader):
    config = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=args.seed)
    accelerator = Accelerator(dataloader_config=config)
    set_seed(args.seed, device_specific=True)
    model = AutoModelForCausalLM.from_pretrained(name)
    model, loader = accelerator.prepare(model, loader)
    return model, loader
