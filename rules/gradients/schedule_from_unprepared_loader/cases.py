"""Schedules, and the batches that they are made for."""

import deepspeed
import torch.distributed as dist
from accelerate import Accelerator
from torch.optim.lr_scheduler import LinearLR, OneCycleLR
from transformers import get_cosine_schedule_with_warmup

# Bugs


def counted_before(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    total = epochs * len(loader)  # expect: DL609
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, total)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(epochs):
        for batch in loader:
            accelerator.backward(model(batch).mean())
            optimizer.step()
            scheduler.step()


def in_the_call(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    scheduler = OneCycleLR(
        optimizer, max_lr=0.1, epochs=epochs, steps_per_epoch=len(loader)  # expect: DL609
    )
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        accelerator.backward(model(batch).mean())
        if step % 2:
            optimizer.step()
            scheduler.step()


def of_an_engine(model, optimizer, data, settings):
    steps = settings.steps or max(1, len(data) // settings.train_micro_batch_size_per_gpu)  # expect: DL609
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, settings.epochs * steps)
    engine, _, loader, _ = deepspeed.initialize(
        model=model, optimizer=optimizer, training_data=data, lr_scheduler=scheduler
    )
    for batch in loader:
        engine.backward(engine(batch).mean())
        engine.step()


# Correct


def prepared_too(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, epochs * len(loader))
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
        scheduler.step()


def counted_after(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, epochs * len(loader))
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
        scheduler.step()


def divided(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    total = epochs * len(loader) // accelerator.num_processes
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, total)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
        scheduler.step()


def once_an_epoch(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    scheduler = LinearLR(optimizer, total_iters=epochs + len(loader))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(epochs):
        for batch in loader:
            accelerator.backward(model(batch).mean())
            optimizer.step()
        scheduler.step()


def for_a_log(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    accelerator.print(len(loader))
    scheduler = LinearLR(optimizer, total_iters=100)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
        scheduler.step()


def batches_are_split(model, optimizer, loader, epochs):
    accelerator = Accelerator(split_batches=True)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, epochs * len(loader))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
        scheduler.step()


def of_an_engine_by_all_ranks(model, optimizer, data, settings):
    batch_size = settings.train_micro_batch_size_per_gpu * dist.get_world_size()
    steps = len(data) // (batch_size * settings.micro_batch_size)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, settings.epochs * steps)
    engine, _, loader, _ = deepspeed.initialize(
        model=model, optimizer=optimizer, training_data=data, lr_scheduler=scheduler
    )
    for batch in loader:
        engine.backward(engine(batch).mean())
        engine.step()


def of_an_engine_by_its_batch(model, optimizer, data, settings):
    steps = len(data) // settings.train_batch_size
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, settings.epochs * steps)
    engine, _, loader, _ = deepspeed.initialize(
        model=model, optimizer=optimizer, training_data=data, lr_scheduler=scheduler
    )
    for batch in loader:
        engine.backward(engine(batch).mean())
        engine.step()
