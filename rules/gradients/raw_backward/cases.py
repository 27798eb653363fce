"""Losses that go backward beside an Accelerator."""

import torch
from accelerate import Accelerator

# Bugs


def in_accumulation(model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).loss
            loss.backward()  # expect: DL605
            optimizer.step()
            optimizer.zero_grad()


def in_a_step_of_its_own(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    def step(batch):
        optimizer.zero_grad()
        loss = model(batch).mean()
        loss.backward(retain_graph=True)  # expect: DL605
        optimizer.step()

    for batch in loader:
        step(batch)


class Trainer:
    def __init__(self, model, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def step(self, batch):
        loss = self.model(batch).loss
        loss.backward()  # expect: DL605
        self.optimizer.step()


class Loop:
    """The Accelerator has two names in one method."""

    def __init__(self, model, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def run(self, loader):
        accelerator = self.accelerator
        for batch in loader:
            with self.accelerator.autocast():
                loss = self.model(batch).mean()
            loss.backward()  # expect: DL605
            accelerator.wait_for_everyone()
            self.optimizer.step()


def with_the_norm_of_each_gradient(model, optimizer, loader, writer):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()  # expect: DL605
        norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        for name, parameter in model.named_parameters():
            writer.add_scalar(name, parameter.grad.norm())
        optimizer.step()
    return norms


# Correct


def through_the_accelerator(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(batch).loss
        accelerator.backward(loss)
        optimizer.step()


def guidance(model, image, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        loss = model(image, batch).mean()
        loss.backward()
        image = image - image.grad


def one_way_or_the_other(model, optimizer, batch, accelerator: Accelerator, own):
    model, optimizer = accelerator.prepare(model, optimizer)
    loss = model(batch).loss
    if own:
        loss.backward()
    else:
        accelerator.backward(loss)
    optimizer.step()


def without_an_accelerator(model, optimizer, batch, accelerator: Accelerator = None):
    model, optimizer = accelerator.prepare(model, optimizer)
    loss = model(batch).loss
    if accelerator is None:
        loss.backward()
    optimizer.step()


def the_accelerator_tells_the_rank_alone(model, batch):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters())
    loss = model(batch).loss
    loss.backward()
    optimizer.step()
    if accelerator.is_main_process:
        print(loss.item())


class TwoAccelerators:
    def __init__(self, model, teacher, optimizer):
        self.one, self.other = Accelerator(), Accelerator()
        self.model, self.optimizer = self.one.prepare(model, optimizer)
        self.teacher = self.other.prepare(teacher)

    def run(self, batch):
        one = self.one
        self.other.print("step")
        loss = self.model(batch).mean()
        loss.backward()
        one.print(loss)
        self.optimizer.step()


def attack_beside_the_training(model, optimizer, loader, step):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        noise = torch.zeros_like(batch, requires_grad=True)
        worst = -model(batch + noise).mean()
        worst.backward()
        loss = model(batch - step * noise.grad.sign()).mean()
        accelerator.backward(loss)
        optimizer.step()


def prepares_only_to_evaluate(model, optimizer, loader, data):
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
    accelerator = Accelerator()
    model, data = accelerator.prepare(model, data)
    return [model(batch) for batch in data]


def prepares_to_train(model, optimizer, loader, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()  # expect: DL605
        optimizer.step()
    accelerator = Accelerator()
    return accelerator.prepare(data)
