"""Gradients that are accumulated: which micro-batches stay with their rank, and when the optimizer steps."""

import contextlib
from contextlib import ExitStack, nullcontext
from functools import partial

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def one_too_early(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        with model.no_sync() if (i + 1) % every != 0 else nullcontext():  # expect: DL622
            model(batch).mean().backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def through_variables(model, loader, optimizer, scaler, args, use_amp):
    model = DDP(model)
    for i, batch in enumerate(loader, start=1):
        context = nullcontext
        if args.distributed and i % args.accumulate != 0:
            context = model.no_sync  # expect: DL622
        with context():
            loss = model(batch).mean() / args.accumulate
            scaler.scale(loss).backward()
        is_update = i % args.accumulate == 0
        if is_update:
            if use_amp:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()


def last_window_forgotten(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        accumulating = not ((i + 1) % every == 0 or i + 1 == len(loader))
        with model.no_sync() if accumulating else nullcontext():  # expect: DL622
            model(batch).mean().backward()
        if (i + 1) % every == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()


def flag_of_ddp(model, batches, optimizer, micro_steps, iterations):
    model = DDP(model)
    for _ in range(iterations):
        for micro_step in range(micro_steps):
            model.require_backward_grad_sync = micro_step == 0  # expect: DL622
            loss = model(next(batches)).mean() / micro_steps
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def settings_in_a_tuple(model, batches, optimizer, args, iterations):
    model = DDP(model)
    total, part = args.total, args.part
    micro_steps = total // part
    for step in range(iterations + 1):
        last_step = step == iterations
        if step % args.every == 0 or last_step:
            print(step)
        if last_step:
            break
        for micro_step in range(micro_steps):
            model.require_backward_grad_sync = micro_step == 0  # expect: DL622
            loss = model(next(batches)).mean() / micro_steps
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def switch_of_fsdp2(model, batches, optimizer, micro_steps):
    fully_shard(model)
    while True:
        for n in range(1, micro_steps + 1):
            model.set_requires_gradient_sync(n == micro_steps - 1)  # expect: DL622
            model(next(batches)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def on_every_batch(model, loader, optimizer):
    model = DDP(model)
    for batch in loader:
        with model.no_sync():  # expect: DL622
            model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def step_of_every_batch(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        if (i + 1) % every:
            with model.no_sync():  # expect: DL622
                model(batch).mean().backward()
        else:
            model(batch).mean().backward()
        optimizer.step()


def prepared(model, optimizer, loader, every):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        last = (step + 1) % every == 0
        hold = nullcontext if last else partial(accelerator.no_sync, model)  # expect: DL622
        with accelerator.autocast(), hold():
            loss = model(batch).mean()
            accelerator.backward(loss / every)
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def sharded_backward_alone(model, loader, optimizer, every):
    model = FSDP(model)
    for i, batch in enumerate(loader):
        loss = model(batch).mean()
        with model.no_sync() if (i + 1) % every != 0 else nullcontext():  # expect: DL622
            loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


class Trainer:
    def __init__(self, model, optimizer, every):
        self.model = DDP(model)
        self.optimizer = optimizer
        self.every = every
        self.seen = 0

    def train(self, loader):
        for batch in loader:
            self.seen += 1
            self.forward_backward(batch)
            if self.seen % self.every == 0:
                self.update()

    def forward_backward(self, batch):
        def maybe_no_sync():
            if dist.get_world_size() > 1 and (self.seen + 1) % self.every != 0:
                return self.model.no_sync()  # expect: DL622
            return contextlib.nullcontext()

        with maybe_no_sync():
            self.model(batch).mean().backward()

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()


def counter_after(model, loader, optimizer, every):
    model = DDP(model)
    count = 0
    for batch in loader:
        with ExitStack() as stack:
            if count % every != 0:
                stack.enter_context(model.no_sync())  # expect: DL622
            model(batch).mean().backward()
        count += 1
        if count % every == 0:
            optimizer.step()
            optimizer.zero_grad()


# Correct


def as_the_step(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        with model.no_sync() if (i + 1) % every != 0 else nullcontext():
            model(batch).mean().backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def first_of_each_window(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        with model.no_sync() if i % every != 0 else nullcontext():
            model(batch).mean().backward()
        if i % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def counted_from_one(model, loader, optimizer, args):
    model = DDP(model)
    for i, batch in enumerate(loader, start=1):
        with nullcontext() if i % args.accumulate == 0 else model.no_sync():
            model(batch).mean().backward()
        if not i % args.accumulate:
            optimizer.step()
            optimizer.zero_grad()


def with_the_last_window(model, loader, optimizer, every):
    model = DDP(model)
    steps = len(loader)
    for i, batch in enumerate(loader):
        update = (i + 1) % every == 0 or i == steps - 1
        with nullcontext() if update else model.no_sync():
            model(batch).mean().backward()
        if update:
            optimizer.step()
            optimizer.zero_grad()


def last_window_left_for_the_next_epoch(model, loader, optimizer, every, epochs):
    model = DDP(model)
    for _ in range(epochs):
        for i, batch in enumerate(loader):
            with model.no_sync() if i % every != every - 1 else nullcontext():
                model(batch).mean().backward()
            if i % every == every - 1:
                optimizer.step()
                optimizer.zero_grad()


def flag_at_the_last(model, batches, optimizer, micro_steps, iterations):
    model = DDP(model)
    for _ in range(iterations):
        for micro_step in range(micro_steps):
            model.require_backward_grad_sync = micro_step == micro_steps - 1
            loss = model(next(batches)).mean() / micro_steps
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def switch_at_the_last(model, batches, optimizer, micro_steps):
    fully_shard(model)
    while True:
        for n in range(1, micro_steps + 1):
            model.set_is_last_backward(n == micro_steps)
            model.set_requires_gradient_sync(n == micro_steps)
            model(next(batches)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def branches(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        if (i + 1) % every:
            with model.no_sync():
                model(batch).mean().backward()
            continue
        model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def backward_alone_under_ddp(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        loss = model(batch).mean()
        with model.no_sync() if i % every else nullcontext():
            loss.backward()  # expect: DL617
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def reduced_by_hand(model, loader, optimizer, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        with model.no_sync():
            model(batch).mean().backward()
        if (i + 1) % every == 0:
            for p in model.parameters():
                dist.all_reduce(p.grad)
            optimizer.step()
            optimizer.zero_grad()


def decided_elsewhere(model, loader, optimizer, schedule):
    model = DDP(model)
    for i, batch in enumerate(loader):
        with nullcontext() if schedule.is_boundary(i) else model.no_sync():
            model(batch).mean().backward()
        if schedule.steps_at(i):
            optimizer.step()
            optimizer.zero_grad()


def one_decided_elsewhere(model, loader, optimizer, schedule, every):
    model = DDP(model)
    for i, batch in enumerate(loader):
        with model.no_sync() if i % every else nullcontext():
            model(batch).mean().backward()
        if not schedule.is_boundary():
            continue
        optimizer.step()
        optimizer.zero_grad()


def told_by_the_caller(model, batch, optimizer, accumulate):
    model = DDP(model)
    with model.no_sync() if accumulate else nullcontext():
        model(batch).mean().backward()
    if not accumulate:
        optimizer.step()
        optimizer.zero_grad()


def chunks_of_a_batch(model, loader, optimizer, split, parts):
    model = DDP(model)
    for batch in loader:
        for i, chunk in enumerate(split(batch, parts)):
            with model.no_sync() if i < parts - 1 else nullcontext():
                model(chunk).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def two_networks(generator, critic, loader, generator_optimizer, critic_optimizer):
    critic = DDP(critic)
    for batch in loader:
        with critic.no_sync():
            critic(generator(batch)).mean().backward()
        generator_optimizer.step()
        critic_optimizer.zero_grad()
        critic(batch).mean().backward()
        critic_optimizer.step()


def evaluated(model, loader, optimizer):
    model = DDP(model)
    for i, batch in enumerate(loader):
        model(batch).mean().backward()
        optimizer.step()
        if i % 100 == 0:
            with torch.no_grad(), model.no_sync():
                print(model(batch).mean())


class Right:
    def __init__(self, model, optimizer, every):
        self.model = DDP(model)
        self.optimizer = optimizer
        self.every = every
        self.seen = 0

    def train(self, loader):
        for batch in loader:
            self.seen += 1
            self.forward_backward(batch)
            if self.seen % self.every == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()

    def forward_backward(self, batch):
        hold = self.model.no_sync if self.seen % self.every else nullcontext
        with hold():
            self.model(batch).mean().backward()
