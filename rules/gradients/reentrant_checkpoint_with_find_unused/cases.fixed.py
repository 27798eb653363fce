"""Models with activation checkpoints, and DDP that looks for unused parameters."""

import torch.utils.checkpoint as cp
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

# Bugs


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.layer, x, use_reentrant=False)  # expect: DL616


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))

    def forward(self, x):
        return checkpoint_sequential(self.layers, 2, x, use_reentrant=False)  # expect: DL616


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Flagged(nn.Module):
    def __init__(self, use_checkpoint=False):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        if self.use_checkpoint:
            return cp.checkpoint(  # expect: DL616
                self.layer,
                x,
                use_reentrant=False,
            )
        return self.layer(x)


def built(cfg):
    model = Flagged(use_checkpoint=cfg.use_checkpoint)
    return model


def train(cfg, rank):
    plain = DDP(Plain(), find_unused_parameters=True)
    nested = Nested().to(rank)
    nested = nn.SyncBatchNorm.convert_sync_batchnorm(nested)
    nested = DDP(nested, device_ids=[rank], find_unused_parameters=True)
    flagged = built(cfg).cuda()
    flagged = DDP(flagged.cuda(), find_unused_parameters=True)
    return plain, nested, flagged


class Prepared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.layer, x, use_reentrant=False)  # expect: DL616


def train_prepared(optimizer):
    settings = DistributedDataParallelKwargs(find_unused_parameters=True)
    accelerator = Accelerator(kwargs_handlers=[settings])
    model = Prepared()
    return accelerator.prepare(model, optimizer)


# Correct


class WithoutReentry(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.layer, x, use_reentrant=False)


class AsTheSettingSays(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.reentrant = reentrant

    def forward(self, x):
        return checkpoint(self.layer, x, use_reentrant=self.reentrant)


class NeverOn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.recompute_ckpt = False

    def forward(self, x):
        if self.recompute_ckpt:
            return checkpoint(self.layer, x)
        return self.layer(x)


class NeverAskedFor(nn.Module):
    # ALBEF models/xbert.py:585: no configuration of the program has the flag.
    def __init__(self, config):
        super().__init__()
        self.layer, self.config = nn.Linear(4, 4), config

    def forward(self, x):
        if getattr(self.config, "gradient_checkpointing", False) and self.training:
            return checkpoint(self.layer, x)
        return self.layer(x)


class NeverEnabled(nn.Module):
    # X2-VLM 21ed5a5 models/xroberta.py:617: nothing asks for the checkpoints.
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.gradient_checkpointing = False

    def forward(self, x):
        if self.gradient_checkpointing and self.training:
            return checkpoint(self.layer, x)
        return self.layer(x)

    def _set_gradient_checkpointing(self, module, value=False):
        if isinstance(module, NeverEnabled):
            module.gradient_checkpointing = value


class OfAnotherModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.layer, x)


class Static(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.layer, x)


def train_well(reentrant, config):
    without = DDP(WithoutReentry(), find_unused_parameters=True)
    setting = DDP(AsTheSettingSays(reentrant), find_unused_parameters=True)
    never = DDP(NeverOn(), find_unused_parameters=True)
    asked = DDP(NeverAskedFor(config), find_unused_parameters=True)
    disabled = DDP(NeverEnabled(), find_unused_parameters=True)
    other = DDP(OfAnotherModel())
    static = DDP(Static(), find_unused_parameters=True, static_graph=True)
    return without, setting, never, asked, disabled, other, static


def saved(checkpoint, model):
    return DDP(model, find_unused_parameters=True), checkpoint(model)
