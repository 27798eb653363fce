"""Blocks in which gradients stay with their rank, and where the forward is."""

import contextlib

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def straight(model, loader, criterion):
    model = DDP(model)
    for batch, target in loader:
        with model.no_sync():
            output = model(batch)
            loss = criterion(output, target)
            loss.backward()  # expect: DL617


def as_the_step_says(model, loader, scaler, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        last = (step + 1) % every == 0
        context = contextlib.nullcontext if last else model.no_sync
        with context():
            loss = model(batch).mean() / every
            scaler.scale(loss).backward()  # expect: DL617


def on_one_branch(model, loader, optimizer, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        if step % every:
            with model.no_sync():
                loss.backward()  # expect: DL617
        else:
            loss.backward()
            optimizer.step()


class Trainer:
    def __init__(self, model):
        self.model = DDP(model)

    def step(self, batch):
        with self.model.no_sync():
            loss = self.model(batch).mean()
            loss.backward()  # expect: DL617


def prepared(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.no_sync(model):
            loss = model(batch).mean()
            accelerator.backward(loss)  # expect: DL617


def behind_a_block_of_another(model, critic, loader):
    model = DDP(model)
    critic = DDP(critic)
    for batch in loader:
        with critic.no_sync():
            loss = model(batch).mean()
        with model.no_sync():
            loss.backward()  # expect: DL617


# Correct


def both_inside(model, loader):
    model = DDP(model)
    for batch in loader:
        with model.no_sync():
            loss = model(batch).mean()
            loss.backward()


def forward_inside_alone(model, loader):
    model = DDP(model)
    for batch in loader:
        with model.no_sync():
            output = model(batch)
        output.mean().backward()


def both_inside_behind_another(model, loader):
    model = DDP(model)
    for batch in loader:
        score = model(batch).mean()
        print(score)
        with model.no_sync():
            output = model(batch)
            loss = output.mean()
            loss.backward()


def of_another_model(model, critic, loader):
    model = DDP(model)
    for batch in loader:
        loss = critic(batch).mean()
        with model.no_sync():
            loss.backward()


def in_a_helper(model, loader, compute_loss):
    model = DDP(model)
    for batch in loader:
        with model.no_sync():
            loss = compute_loss(model, batch)
            loss.backward()


def accumulated(model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).mean()
            accelerator.backward(loss)
            optimizer.step()


def given_from_outside(model, loss):
    model = DDP(model)
    with model.no_sync():
        loss.backward()


def each_in_a_block_of_its_own(model, loader, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        if step % every == 0:
            output = model(batch)
        else:
            with model.no_sync():
                output = model(batch)
        loss = output.mean()
        if step % every == 0:
            loss.backward()
        else:
            with model.no_sync():
                loss.backward()
