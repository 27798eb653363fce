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


def saved_now_and_then(model, optimizer, loader, epochs, path):
    # the next epoch trains what this one saves
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(epochs):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
        if epoch % 5 == 0 or epoch == epochs - 1:
            model = accelerator.unwrap_model(model)  # expect: DL207
            model.save_pretrained(path)


def by_what_computes_the_loss(model, optimizer, loader, diffusion, path):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        loss = diffusion.training_losses(model, batch)["loss"].mean()
        accelerator.backward(loss)
        optimizer.step()
        if step % 1000 == 0 and accelerator.is_main_process:
            model = accelerator.unwrap_model(model)  # expect: DL207
            model.save_pretrained(path)


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


def saved_at_the_end_of_the_loop(model, optimizer, loader, epochs, path):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(epochs):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
        if epoch == epochs - 1:
            model = accelerator.unwrap_model(model)
            model.save_pretrained(path)


def saved_before_it_stops(model, optimizer, loader, limit, path):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        if step % limit == limit - 1:
            model = accelerator.unwrap_model(model)
            model.save_pretrained(path)
            break


def wrapped_again_for_the_next_epoch(model, optimizer, loader, epochs, path):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(epochs):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
        if epoch % 5 == 0:
            model = accelerator.unwrap_model(model)
            model.save_pretrained(path)
            model = accelerator.prepare(model)


class KeepsTheInside:
    # DDPM-weather ddpm/ddpm_base.py:70: the class that trains is made of this one
    def __init__(self, model, several):
        self.model = model
        if several:
            self.model = DDP(self.model)
            self.model = self.model.module  # expect: DL207


class TrainsTheInside(KeepsTheInside):
    def step(self, batch):
        self.model(batch).sum().backward()


class KeepsTheInsideToSample:
    def __init__(self, model, several):
        self.model = model
        if several:
            self.model = DDP(self.model)
            self.model = self.model.module


class Samples(KeepsTheInsideToSample):
    def sample(self, batch):
        return self.model(batch)
