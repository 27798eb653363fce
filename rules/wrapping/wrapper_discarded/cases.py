"""Rebinding to the model inside: before training, and after it."""

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def after_prepare(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model = accelerator.unwrap_model(model)  # expect: DL207
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()


def by_module(net, loader):
    model = DDP(net)
    model = model.module  # for the attributes  # expect: DL207
    for batch in loader:
        model(batch).mean().backward()


class Loop:
    def __init__(self, net):
        self.model = DDP(net)
        self.model = self.model.module  # expect: DL207

    def step(self, batch):
        loss = self.model(batch).mean()
        loss.backward()


def plain(model):
    return model.module if hasattr(model, "module") else model


def by_a_function(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model = plain(model)  # expect: DL207
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()


# Correct


def after_training(model, optimizer, loader, path):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
    model = accelerator.unwrap_model(model)
    model.save_pretrained(path)


def another_name(net, loader):
    model = DDP(net)
    inside = model.module
    print(inside.config)
    for batch in loader:
        model(batch).mean().backward()


def wrapped_again(net, loader):
    model = DDP(net)
    model = model.module
    model = DDP(model, static_graph=True)
    for batch in loader:
        model(batch).mean().backward()


def evaluation(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    model = accelerator.unwrap_model(model)
    return [model(**batch).loss for batch in loader]


def by_a_function_for_saving(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
    model = plain(model)
    torch.save(model.state_dict(), f"model-{accelerator.process_index}.pt")
