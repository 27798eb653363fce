"""Unwrapping by name, and by class."""

import torch
from accelerate import Accelerator
from distlint.runtime import unwrap
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def in_place(model):
    return unwrap(model)  # expect: DL205


def loop(model):
    # expect: DL205
    # one more layer
    model = unwrap(model)
    return model


def unwrap_all(model):
    # expect: DL205
    model = unwrap(model)
    return model


def once(self):
    # expect: DL205
    self.model = unwrap(self.model)
    return self.model.config


def default(net, path):
    to_save = unwrap(net)  # expect: DL205
    to_save.save_pretrained(path)


def prepared(model, optimizer, path):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    net = (
        accelerator.unwrap_model(model)  # expect: DL205
    )
    net.save_pretrained(path)


def of_a_copy(model):
    # trl 1.5.0 trl/models/activation_offloading.py:699
    # the network itself
    # expect: DL205
    network = unwrap(model)
    return network.lm_head


class Kept:
    # speechbrain 1.1.1 speechbrain/core.py:463
    def __init__(self, modules):
        self.modules = modules
        # expect: DL205
        self.inner_modules = unwrap(self.modules)


# Correct


def device_of(model):
    # peft 0.21.2 peft/tuners/lora/corda.py:51
    if hasattr(model, "module"):
        model = model.module
    return next(iter(model.parameters())).device


def by_class(model):
    return model.module if isinstance(model, DDP) else model


def layers(model):
    return model.model.layers if hasattr(model, "model") else model.layers


def innermost_layers(model):
    while hasattr(model, "model"):
        model = model.model
    return model.layers


def own_part(self):
    return getattr(self, "module", self)


def another_default(model):
    return getattr(model, "module", None)


def asks_only(model):
    if hasattr(model, "module"):
        print("wrapped")
    return model


def compiled(model):
    return getattr(model, "_orig_mod", torch.nn.Identity())


def other_work(model, path):
    if hasattr(model, "module"):
        torch.save(model.module.state_dict(), path)
    else:
        torch.save(model.state_dict(), path)
