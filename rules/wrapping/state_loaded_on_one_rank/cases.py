"""Optimizers that one rank alone restores, and those that all do."""

import torch
import torch.distributed as dist
from accelerate import Accelerator

# Bugs


def only_on_rank_0(model, optimizer, batches, path):
    if dist.get_rank() == 0:
        optimizer.load_state_dict(torch.load(path, map_location="cpu"))  # expect: DL211
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()


class Trainer:
    def __init__(self, model, folder):
        self.accelerator = Accelerator()
        self.optim = torch.optim.AdamW(model.parameters())
        self.saves = self.accelerator.is_main_process
        if folder is not None and self.saves:
            self.load(folder)  # expect: DL211

    def load(self, path):
        self.optim.load_state_dict(torch.load(path, map_location="cpu"))

    def update(self, loss):
        self.accelerator.backward(loss)
        self.optim.step()


def after_the_others_left(optimizer, path):
    if dist.get_rank() != 0:
        return
    optimizer.load_state_dict(torch.load(path, map_location="cpu"))  # expect: DL211


def restored(path, model, optimizer=None):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    if optimizer:
        optimizer.load_state_dict(state["optimizer"])


def resumed_by_rank_0(model, optimizer, path):
    if dist.get_rank() == 0:
        restored(path, model, optimizer)  # expect: DL211
    return model


# Correct


def on_every_rank(model, optimizer, batches, path):
    if dist.get_rank() == 0:
        print(path)
    optimizer.load_state_dict(torch.load(path, map_location="cpu"))
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()


def the_weights_that_ddp_sends(model, path):
    if dist.get_rank() == 0:
        model.load_state_dict(torch.load(path, map_location="cpu"))
    return torch.nn.parallel.DistributedDataParallel(model)


def an_optimizer_of_rank_0(probe, probe_optimizer, batches, path):
    if dist.get_rank() == 0:
        probe_optimizer.load_state_dict(torch.load(path, map_location="cpu"))
        for batch in batches:
            probe(batch).sum().backward()
            probe_optimizer.step()


def in_both_arms(optimizer, path, mine):
    if dist.get_rank() == 0:
        optimizer.load_state_dict(torch.load(path, map_location="cpu"))
    else:
        optimizer.load_state_dict(torch.load(mine, map_location="cpu"))


class Resuming:
    def __init__(self, optimizer, path, writer):
        self.optimizer = optimizer
        self.load(path)
        if dist.get_rank() == 0:
            writer.open(path)

    def load(self, path):
        self.optimizer.load_state_dict(torch.load(path, map_location="cpu"))

    def update(self):
        self.optimizer.step()


def exported_by_rank_0(model, path):
    # TorchEasyRec 54cac31 tzrec/utils/export_util.py:259: nothing of an optimizer is read there
    if dist.get_rank() == 0:
        restored(path, model)
    return model


def exported_by_a_helper(model, path, optimizer=None):
    restored(path, model, optimizer)


def exported_by_rank_0_in_a_helper(model, path):
    if dist.get_rank() == 0:
        exported_by_a_helper(model, path)
    return model
