"""Per-rank seeds before and after what ranks must build alike."""

import random
from copy import deepcopy

import torch
import torch.distributed as dist
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import DataLoaderConfiguration, DistributedDataParallelKwargs, set_seed
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from timm.models import create_model
from timm.utils import ModelEma
from transformers import AutoModelForCausalLM, Trainer
from distlint.runtime import decorrelate, seed_everything


class Net(nn.Module):
    pass


def train_one_epoch(model, loader, average=None):
    for batch in loader:
        model(batch).sum().backward()


def evaluate(loader, model):
    return [model(batch) for batch in loader]


def sample(model):
    return model(torch.zeros(1))


def update(average, model, decay):
    for mine, other in zip(average.parameters(), model.parameters()):
        mine.data.mul_(decay).add_(other.data, alpha=1 - decay)


def seed_all(seed, rank):
    random.seed(seed + rank)
    torch.manual_seed(seed + rank)


def options(parser):
    parser.add_argument("--pretrained", action="store_true")
    parser.add_argument("--from-hub", default=True)
    return parser.parse_args()


# Bugs


def picked_and_copied_before_it_is_wrapped(args, loader, create_large):
    torch.manual_seed(args.seed + dist.get_rank())  # expect: DL402
    if args.large:
        model = create_large(classes=10)
    else:
        model = create_model(args.model, pretrained=args.pretrained)
    model.cuda()
    average = ModelEma(model, decay=0.999)
    model = DDP(model)
    for _ in range(args.epochs):
        train_one_epoch(model, loader, average)
        dist.barrier()
        evaluate(loader, average.ema)


def picked_with_weights(args, loader):
    torch.manual_seed(args.seed + dist.get_rank())
    model = create_model(args.model, pretrained=args.from_hub)
    average = ModelEma(model, decay=0.999)
    model = DDP(model)
    for _ in range(args.epochs):
        train_one_epoch(model, loader, average)
        dist.barrier()
        evaluate(loader, average.ema)


def sharded(seed):
    seed_everything(seed)  # expect: DL402
    model = FSDP(Net())
    decorrelate(seed)
    return model


def sharded_in_place(args):
    if args.seed is not None:
        # other noise on each rank
        seed_everything(args.seed)  # expect: DL402
    model = Net().to("cuda")
    fully_shard(model)
    if args.seed is not None:
        decorrelate(args.seed)
    optimizer = torch.optim.AdamW(model.parameters())
    return model, optimizer


def through_a_function(args):
    seed_everything(args.seed)  # expect: DL402
    model = Net()
    model = FSDP(model)
    decorrelate(args.seed)
    return model


def prepared(args, loader):
    accelerator = Accelerator()
    seed_everything(args.seed)  # expect: DL402
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    decorrelate(args.seed)
    return model, optimizer, loader


def prepared_for_fsdp(args, config, loader):
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2))
    seed_everything(args.seed)  # expect: DL402
    model = AutoModelForCausalLM.from_config(config)
    model, loader = accelerator.prepare(model, loader)
    decorrelate(args.seed)
    return model, loader


def seedable(args, name, loader):
    config = DataLoaderConfiguration(use_seedable_sampler=True)
    accelerator = Accelerator(dataloader_config=config)
    seed_everything(args.seed)  # expect: DL402
    model = AutoModelForCausalLM.from_pretrained(name)
    model, loader = accelerator.prepare(model, loader)
    decorrelate(args.seed)
    return model, loader


class PreparesLater:
    def __init__(self, args):
        self.accelerator = Accelerator(use_seedable_sampler=True)
        set_seed(args.seed, device_specific=True)  # expect: DL402

    def prepare_everything(self):
        self.model, self.train_loader = self.accelerator.prepare(self.model, self.train_loader)


def before_train(args, model, data):
    trainer = Trainer(model, args, train_dataset=data)
    set_seed(args.seed + args.process_index)  # expect: DL402
    trainer.train()


def evaluated_copy(args, loader):
    # ConvNeXt 048efce main.py:314
    seed = args.seed + dist.get_rank()
    torch.manual_seed(seed)  # expect: DL402
    model = Net()
    if args.resume:
        model.load_state_dict(torch.load(args.resume, map_location="cpu"))
    average = None
    if args.average:
        average = ModelEma(model, decay=0.999)
    model = DDP(model)
    train_one_epoch(model, loader, average)
    evaluate(loader, model)
    if average is not None:
        evaluate(loader, average.ema)


def copy_that_some_runs_load(args, loader):
    torch.manual_seed(args.seed + dist.get_rank())  # expect: DL402
    model = Net()
    average = ModelEma(model, decay=0.999)
    model = DDP(model)
    if args.resume:
        load_average(average, args.resume)
    # ConvNeXt main.py:391: from what it finds, which is nothing at first.
    load_last(args, model, average=average)
    train_one_epoch(model, loader, average)
    evaluate(loader, average.ema)


# Correct


def copy_that_is_loaded_and_evaluated(args, loader):
    # VideoMamba main.py:454
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    average = ModelEma(model, decay=0.999)
    model = DDP(model)
    if args.evaluate:
        load_average(average, args.path)
        if args.average:
            evaluate(loader, average.ema)
        return
    train_one_epoch(model, loader, average)
    if dist.get_rank() == 0:
        torch.save(average.ema.state_dict(), args.path)


def copy_of_a_run_that_only_evaluates(args, loader):
    # Vim dd0358a vim/main.py:466: who evaluates alone has resumed
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    average = ModelEma(model, decay=0.999)
    model = DDP(model)
    if args.resume:
        load_average(average, args.resume)
    if args.evaluate:
        print(evaluate(loader, average.ema))
        return
    train_one_epoch(model, loader, average)
    if dist.get_rank() == 0:
        torch.save(average.ema.state_dict(), args.path)


def copy_for_the_checkpoint(args, loader):
    # deit main.py:337: what rank 0 saves began as rank 0's weights
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    average = ModelEma(model, decay=0.999)
    model = DDP(model)
    train_one_epoch(model, loader, average)
    evaluate(loader, model)
    if dist.get_rank() == 0:
        torch.save(average.ema.state_dict(), args.path)
        sample(average.ema)


def copied_once_more(args, loader):
    # DiT train.py:147
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    average = deepcopy(model)
    model = DDP(model)
    update(average, model.module, decay=0)
    evaluate(loader, average)


def copy_of_what_was_loaded(args, loader):
    torch.manual_seed(args.seed + dist.get_rank())
    model = Net()
    model.load_state_dict(torch.load(args.path, map_location="cpu"))
    average = deepcopy(model)
    model = DDP(model)
    evaluate(loader, average)


def copy_behind_the_wrapper(args, loader):
    torch.manual_seed(args.seed + dist.get_rank())
    model = DDP(Net())
    average = deepcopy(model.module)
    evaluate(loader, average)


def copy_of_one_seed(args, loader):
    torch.manual_seed(args.seed)
    model = Net()
    average = deepcopy(model)
    model = DDP(model)
    evaluate(loader, average)


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


class PreparesModelsLater:
    def __init__(self, args):
        self.accelerator = Accelerator(use_seedable_sampler=True)
        set_seed(args.seed, device_specific=True)

    def prepare_everything(self):
        self.model = self.accelerator.prepare(self.model)


class KeepsItsDataSeed:
    def __init__(self, args):
        config = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=args.seed)
        self.accelerator = Accelerator(dataloader_config=config)
        set_seed(args.seed, device_specific=True)

    def prepare_everything(self):
        self.model, self.train_loader = self.accelerator.prepare(self.model, self.train_loader)


def with_data_seed(args, name, loader):
    config = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=args.seed)
    accelerator = Accelerator(dataloader_config=config)
    set_seed(args.seed, device_specific=True)
    model = AutoModelForCausalLM.from_pretrained(name)
    model, loader = accelerator.prepare(model, loader)
    return model, loader
