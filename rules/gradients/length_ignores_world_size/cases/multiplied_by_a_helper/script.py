"""Prepares schedulers of helpers that are made for the steps of all processes."""

from accelerate import Accelerator

from parts import as_given, for_all, for_batches


def train(accelerator, args, net, optimizer, loader, scheduler):
    for step, batch in zip(range(args.max_train_steps), loader):
        accelerator.backward(net(batch).sum())
        optimizer.step()
        scheduler.step()


def of_all(args, net, optimizer, loader):
    accelerator = Accelerator()
    lr_scheduler = for_all(args, optimizer, accelerator)
    net, optimizer, loader, lr_scheduler = accelerator.prepare(net, optimizer, loader, lr_scheduler)
    for step, batch in zip(range(args.max_train_steps), loader):
        accelerator.backward(net(batch).sum())
        optimizer.step()
        lr_scheduler.step()


def multiplied(args, net, optimizer, loader):
    accelerator = Accelerator()
    lr_scheduler = as_given(optimizer, args.max_train_steps * accelerator.num_processes)
    net, optimizer, loader, lr_scheduler = accelerator.prepare(net, optimizer, loader, lr_scheduler)
    train(accelerator, args, net, optimizer, loader, lr_scheduler)


def unprepared(args, net, optimizer, loader):
    accelerator = Accelerator()
    lr_scheduler = as_given(optimizer, args.max_train_steps)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    train(accelerator, args, net, optimizer, loader, lr_scheduler)


def of_batches(args, net, optimizer, loader):
    accelerator = Accelerator()
    lr_scheduler = for_batches(args, optimizer, loader)
    net, optimizer, loader, lr_scheduler = accelerator.prepare(net, optimizer, loader, lr_scheduler)
    train(accelerator, args, net, optimizer, loader, lr_scheduler)
