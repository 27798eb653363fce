"""What comes behind the end of the process group."""

import sys

import torch
import torch.distributed as dist
from accelerate import Accelerator


# Bugs


def as_in_the_examples(args, model, loader):
    accelerator = Accelerator(log_with="wandb")
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch))
    if args.with_tracking:
        accelerator.end_training()

    if args.output_dir is not None:
        accelerator.wait_for_everyone()  # expect: DL112
        accelerator.unwrap_model(model).save_pretrained(args.output_dir)


def without_a_condition(model, path):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    accelerator.end_training()
    accelerator.wait_for_everyone()  # expect: DL112
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), path)
    return model


def asked_for_the_rank(model, path):
    dist.init_process_group("nccl")
    dist.barrier()
    dist.destroy_process_group()
    if dist.get_rank() == 0:  # expect: DL112
        torch.save(model.state_dict(), path)


def clean_up():
    if dist.is_initialized():
        dist.destroy_process_group()


def mean_of(value):
    dist.all_reduce(value)  # expect: DL112
    return value / 2


def through_helpers(losses):
    dist.init_process_group("nccl")
    clean_up()
    print(mean_of(losses))


# Look-alikes


def at_the_end(args, model, loader):
    accelerator = Accelerator(log_with="wandb")
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained(args.output_dir)
    accelerator.end_training()
    print(accelerator.is_main_process)


def only_where_there_is_one(model, path):
    dist.init_process_group("nccl")
    dist.barrier()
    clean_up()
    if not dist.is_initialized() or dist.get_rank() == 0:
        torch.save(model.state_dict(), path)


def size():
    if not dist.is_initialized():
        return 1
    return dist.get_world_size()


def mean_if_several(value):
    if size() == 1:
        return value
    dist.all_reduce(value)
    return value


def helper_that_asks(losses):
    dist.init_process_group("nccl")
    clean_up()
    print(mean_if_several(losses), size())


def made_again(steps):
    for step in steps:
        dist.init_process_group("nccl")
        step()
        dist.barrier()
        dist.destroy_process_group()


def leaves(args, losses):
    dist.init_process_group("nccl")
    if args.dry_run:
        dist.destroy_process_group()
        sys.exit(0)
    dist.all_reduce(losses)
    dist.destroy_process_group()


def on_other_arms(args, losses):
    dist.init_process_group("nccl")
    if args.once:
        dist.destroy_process_group()
    if not args.once:
        dist.all_reduce(losses)
        dist.destroy_process_group()


def after_a_failure(train, losses):
    dist.init_process_group("nccl")
    try:
        train()
    except KeyboardInterrupt:
        dist.destroy_process_group()
        raise
    dist.all_reduce(losses)
    dist.destroy_process_group()


def of_another_group(losses):
    dist.init_process_group("nccl")
    pair = dist.new_group([0, 1])
    dist.all_reduce(losses, group=pair)
    dist.destroy_process_group(pair)
    dist.barrier()
    dist.destroy_process_group()


def worker(rank, losses):
    dist.init_process_group("nccl", rank=rank, world_size=2)
    dist.all_reduce(losses)
    dist.destroy_process_group()


def two_rounds(losses):
    torch.multiprocessing.spawn(worker, (losses,), nprocs=2)
    torch.multiprocessing.spawn(worker, (losses,), nprocs=2)


def tolerated(losses):
    dist.init_process_group("nccl")
    dist.destroy_process_group()
    try:
        dist.all_reduce(losses)
    except (RuntimeError, ValueError):
        print("alone")


def asked_of_the_option(args, losses):
    if args.distributed:
        dist.init_process_group("nccl")
    dist.destroy_process_group()
    if args.distributed:
        print(losses)
