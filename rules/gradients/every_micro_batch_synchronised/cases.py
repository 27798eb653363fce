"""Gradient accumulation by hand, and what sends the gradients."""

import contextlib

import torch
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def by_the_step(model, loader, optimizer, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean() / every
        loss.backward()  # expect: DL623
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def by_a_flag(model, loader, optimizer, scaler, args):
    model = DDP(model)
    for step, batch in enumerate(loader):
        updates = (step + 1) % args.accumulation == 0 or step + 1 == len(loader)
        scaler.scale(model(batch).mean()).backward()  # expect: DL623
        if updates:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def in_an_inner_loop(model, draw, optimizer, every, turns):
    model = DDP(model)
    for _ in range(turns):
        optimizer.zero_grad()
        for _ in range(every):
            loss = model(draw()).mean()
            (loss / every).backward()  # expect: DL623
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def begun_in_front(model, loader, optimizer, args):
    model = DDP(model)
    optimizer.zero_grad()
    last_step = -1
    for number, batch in enumerate(loader):
        model(batch).mean().backward()  # expect: DL623
        if number - last_step >= args.accumulate:
            optimizer.step()
            optimizer.zero_grad()
            last_step = number


def left_early(model, loader, optimizer, every):
    model = DDP(model)
    step = 0
    for batch in loader:
        step += 1
        loss = model(batch).mean()
        loss.backward()  # expect: DL623
        if step % every != 0:
            continue
        optimizer.step()
        optimizer.zero_grad()


def with_a_counter(model, loader, optimizer, every):
    model = DDP(model)
    turns = 0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()  # expect: DL623
        turns += 1
        if turns == every:
            turns = 0
            optimizer.step()
            optimizer.zero_grad()


def by_a_scaler(model, loader, optimizer, loss_scaler, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean() / every
        loss_scaler(loss, optimizer, update_grad=(step + 1) % every == 0)  # expect: DL623


def one_arm_of_two(model, loader, optimizer, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        if every > 1:
            (loss / every).backward()  # expect: DL623
            if step % every == 0:
                optimizer.step()
                optimizer.zero_grad()
        else:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def by_accelerator(model, optimizer, loader, every):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        loss = model(batch).mean() / every
        accelerator.backward(loss)  # expect: DL623
        if step % every == 0:
            optimizer.step()
            optimizer.zero_grad()


# Look-alikes


def held_back(model, loader, optimizer, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        last = (step + 1) % every == 0
        with contextlib.nullcontext() if last else model.no_sync():
            model(batch).mean().backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()


def switched_off(model, loader, optimizer, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        model.require_backward_grad_sync = (step + 1) % every == 0
        model(batch).mean().backward()
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def by_accumulate(model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).mean())
            optimizer.step()
            optimizer.zero_grad()


def each_turn(model, loader, optimizer):
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            print(loss.item())


def one_micro_batch(model, loader, optimizer):
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        if (step + 1) % 1 == 0:
            optimizer.step()
            optimizer.zero_grad()


def forgotten_each_turn(model, loader, optimizer, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        model(batch).mean().backward()
        if step % every == 0:
            optimizer.step()


def schedule_once_in_a_while(model, loader, optimizer, scheduler, every):
    model = DDP(model)
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
        if step % every == 0:
            scheduler.step()


def two_players(critic, generator, loader, critic_optimizer, generator_optimizer, every):
    critic, generator = DDP(critic), DDP(generator)
    for step, batch in enumerate(loader):
        critic_optimizer.zero_grad()
        critic(batch).mean().backward()
        critic_optimizer.step()
        if step % every == 0:
            generator_optimizer.zero_grad()
            generator(batch).mean().backward()
            generator_optimizer.step()


def several_steps_of_one(critic, loader, optimizer, turns):
    critic = DDP(critic)
    for batch in loader:
        for _ in range(turns):
            optimizer.zero_grad()
            loss = critic(batch).mean()
            loss.backward()
            optimizer.step()


def several_losses_of_one(model, loader, optimizer):
    model = DDP(model)
    for batch in loader:
        optimizer.zero_grad()
        losses = model(batch)
        for number in range(3):
            losses[number].backward(retain_graph=True)
        optimizer.step()


def of_one_process(model, loader, optimizer, every):
    model = torch.nn.DataParallel(model)
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        if (step + 1) % every == 0:
            optimizer.step()


def by_an_engine(engine, loader, every):
    for step, batch in enumerate(loader):
        engine.backward(engine(batch).mean())
        if (step + 1) % every == 0:
            engine.step()
