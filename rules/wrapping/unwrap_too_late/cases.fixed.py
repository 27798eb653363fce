"""Unwrapping after and before the attribute."""

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from transformers import Trainer
from trl.models.utils import unwrap_model_for_generation

# Bugs


class PolicyTrainer(Trainer):
    def __init__(self, model, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def reference(self):
        policy = unwrap_model(self.model).policy  # expect: DL203
        return policy

    def adapted(self):
        with unwrap_model(self.model).policy.disable_adapter():  # expect: DL203
            return self.model

    def sample(self, batch):
        with unwrap_model_for_generation(unwrap_model(self.model).policy, self.accelerator) as net:  # expect: DL203
            return net.generate(**batch)


def save(net, path):
    model = DistributedDataParallel(net)
    model.module.encoder.save_pretrained(path)  # expect: DL203


# Correct


class Right(PolicyTrainer):
    def reference(self):
        return self.accelerator.unwrap_model(self.model).policy

    def inner(self):
        return self.accelerator.unwrap_model(self.model.module)


def unwrap_model(model):
    while hasattr(model, "module"):
        model = model.module
    return model


def not_wrapped(net):
    part = unwrap_model(net.encoder)
    return part, DistributedDataParallel(net)


def asked(net):
    model = DistributedDataParallel(net)
    return unwrap_model(model.encoder) if hasattr(model, "encoder") else unwrap_model(model)
