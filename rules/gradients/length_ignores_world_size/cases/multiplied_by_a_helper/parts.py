"""Makes schedulers for the steps of all processes, and for those that it computes."""

from transformers import get_scheduler


def for_all(args, optimizer, accelerator):
    steps = args.max_train_steps * accelerator.num_processes
    return get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps=steps)


def as_given(optimizer, steps):
    return get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps=steps)


def for_batches(args, optimizer, loader):
    return get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps=args.epochs * len(loader))
