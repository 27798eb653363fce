"""Schedules of learning rates that an Accelerator prepares."""

import math

from accelerate import Accelerator, DataLoaderConfiguration
from accelerate.utils import DummyScheduler
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, ReduceLROnPlateau
from transformers import get_cosine_schedule_with_warmup, get_scheduler

# Bugs


def steps_of_one_process(model, optimizer, loader, args):
    accelerator = Accelerator()
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_warmup_steps=0,
        num_training_steps=args.max_train_steps * accelerator.num_processes,  # expect: DL613
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    global_step = 0
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
        scheduler.step()
        global_step += 1
        if global_step >= args.max_train_steps:
            break


def warm_up_of_one_process(optimizer, args):
    accelerator = Accelerator()
    scheduler = get_cosine_schedule_with_warmup(
        optimizer,
        num_warmup_steps=args.warmup_steps * accelerator.num_processes,  # expect: DL613
        num_training_steps=args.max_train_steps * accelerator.num_processes,
    )
    return accelerator.prepare(optimizer, scheduler)


def start_of_one_process(optimizer, args):
    accelerator = Accelerator()
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_training_steps=args.max_train_steps * accelerator.num_processes
        - args.start * accelerator.num_processes,  # expect: DL613
    )
    return accelerator.prepare(optimizer, scheduler)


def from_the_length_of_a_share(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    steps = epochs * len(loader)
    scheduler = get_cosine_schedule_with_warmup(
        optimizer,
        num_warmup_steps=0,
        num_training_steps=steps * accelerator.num_processes,  # expect: DL613
    )
    scheduler = accelerator.prepare(scheduler)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
        scheduler.step()


def divided_by_the_processes(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    per_epoch = math.ceil(len(loader) / accelerator.num_processes)
    scheduler = get_scheduler(
        "linear",
        optimizer,
        num_training_steps=(epochs * per_epoch) * accelerator.num_processes,  # expect: DL613
    )
    return accelerator.prepare(model, optimizer, loader, scheduler)


def made_in_the_call(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    steps = epochs * len(loader)
    return accelerator.prepare(CosineAnnealingLR(optimizer, T_max=steps * accelerator.num_processes))  # expect: DL613


def a_function_of_the_step(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    total = epochs * len(loader)
    scheduler = LambdaLR(optimizer, falling(total))  # expect: DL613
    scheduler = accelerator.prepare(scheduler)
    return model, scheduler


def epochs_times_the_batches_of_a_share(model, optimizer, loader, args):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_warmup_steps=0,
        num_training_steps=(len(loader) * args.num_epochs) * accelerator.num_processes,  # expect: DL613
    )
    scheduler = accelerator.prepare(scheduler)
    for _ in range(args.num_epochs):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
            scheduler.step()


def right_only_where_it_is_computed(model, optimizer, loader, args):
    accelerator = Accelerator()
    if args.max_steps is None:
        args.max_steps = args.epochs * len(loader)
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_training_steps=args.max_steps,  # expect: DL613
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    step = 0
    for epoch in range(args.epochs):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
            scheduler.step()
            step += 1
            if step >= args.max_steps:
                break


def with_a_factor(model, optimizer, loader, max_steps=None):
    accelerator = Accelerator()
    if max_steps is None:
        max_steps = 3 * len(loader)
    scheduler = CosineAnnealingLR(optimizer, T_max=max_steps * 2)  # expect: DL613
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for step in range(max_steps):
        accelerator.backward(model(next(loader)).loss)
        optimizer.step()
        scheduler.step()


class Backend:
    # finetrainers finetrainers/parallel/accelerate.py:146.
    def __init__(self, folder):
        loaders = DataLoaderConfiguration(split_batches=False)
        self.accelerator = Accelerator(dataloader_config=loaders, project_dir=folder)

    def prepare_optimizer(self, optimizer, lr_scheduler):
        optimizer = self.accelerator.prepare_optimizer(optimizer)
        lr_scheduler = self.accelerator.prepare_scheduler(lr_scheduler)
        return optimizer, lr_scheduler


class TrainerOfABackend:
    def __init__(self, backend, args):
        self.backend = backend
        self.args = args

    def set_up(self, optimizer):
        self.scheduler = get_scheduler(
            "cosine",
            optimizer=optimizer,
            num_training_steps=self.args.max_steps,  # expect: DL613
        )
        self.optimizer, self.scheduler = self.backend.prepare_optimizer(optimizer, self.scheduler)

    def train(self, model, batches):
        step = 0
        while step < self.args.max_steps:
            self.backend.accelerator.backward(model(next(batches)).loss)
            self.optimizer.step()
            self.scheduler.step()
            step += 1


class TrainerWithAnAccelerator:
    def __init__(self, optimizer, args):
        self.args = args
        self.accelerator = Accelerator()
        self.scheduler = get_scheduler(
            "cosine",
            optimizer=optimizer,
            num_training_steps=self.args.max_steps * self.accelerator.num_processes,  # expect: DL613
        )
        self.optimizer, self.scheduler = self.accelerator.prepare(optimizer, self.scheduler)
        self.step = 0

    def train(self, model, batches):
        while self.step < self.args.max_steps:
            self.accelerator.backward(model(next(batches)).loss)
            self.optimizer.step()
            self.scheduler.step()
            self.step += 1


def plateau_of_one_process(model, optimizer, loader, evaluate, config):
    accelerator = Accelerator()
    scheduler = ReduceLROnPlateau(optimizer, "max", patience=config.patience)  # expect: DL613
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for _ in range(config.epochs):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
        scheduler.step(accelerator.gather(evaluate(model)).mean())


class TrainerOnAPlateau:
    def __init__(self, optimizer):
        self.accelerator = Accelerator()
        self.scheduler = ReduceLROnPlateau(optimizer)  # expect: DL613
        self.optimizer, self.scheduler = self.accelerator.prepare(optimizer, self.scheduler)

    def end_epoch(self, losses):
        self.scheduler.step(metrics=self.accelerator.gather(losses).mean())


class TrainerThatKeepsItsNumber:
    # soundstorm-pytorch 8119522 soundstorm_pytorch/trainer.py:119.
    def __init__(self, optimizer, num_train_steps, split_batches=False, accelerate_kwargs: dict = dict()):
        self.accelerator = Accelerator(split_batches=split_batches, **accelerate_kwargs)
        self.num_train_steps = num_train_steps
        self.scheduler = CosineAnnealingLR(optimizer, T_max=num_train_steps)  # expect: DL613
        self.optimizer, self.scheduler = self.accelerator.prepare(optimizer, self.scheduler)

    def train(self, model, batches):
        step = 0
        while step < self.num_train_steps:
            self.accelerator.backward(model(next(batches)).loss)
            self.optimizer.step()
            self.scheduler.step()
            step += 1


def computed_once_more_behind(args, net, text, optimizer, loader):
    # EditAnything 8d2db4a utils/train_dreambooth_lora_inpaint.py:648.
    accelerator = Accelerator()
    overrode = False
    per_epoch = math.ceil(len(loader) / args.accumulated)
    if args.max_train_steps is None:
        args.max_train_steps = args.epochs * per_epoch
        overrode = True
    scheduler = get_scheduler(
        args.schedule,
        optimizer=optimizer,
        num_training_steps=args.max_train_steps * args.accumulated,  # expect: DL613
    )
    if args.train_text:
        net, text, optimizer, loader, scheduler = accelerator.prepare(net, text, optimizer, loader, scheduler)
    else:
        net, optimizer, loader, scheduler = accelerator.prepare(net, optimizer, loader, scheduler)
    per_epoch = math.ceil(len(loader) / args.accumulated)
    if overrode:
        args.max_train_steps = args.epochs * per_epoch
    global_step = 0
    for batch in loader:
        accelerator.backward(net(batch).loss)
        optimizer.step()
        scheduler.step()
        global_step += 1
        if global_step >= args.max_train_steps:
            break


# Correct


def given_anew_whoever_gave_it(args, net, optimizer, loader):
    accelerator = Accelerator()
    if args.max_train_steps is None:
        args.max_train_steps = args.epochs * len(loader)
    scheduler = get_scheduler(
        args.schedule, optimizer=optimizer, num_training_steps=args.max_train_steps
    )
    net, optimizer, loader, scheduler = accelerator.prepare(net, optimizer, loader, scheduler)
    if args.resume:
        args.max_train_steps = args.max_train_steps // accelerator.num_processes
    global_step = 0
    for batch in loader:
        accelerator.backward(net(batch).loss)
        optimizer.step()
        scheduler.step()
        global_step += 1
        if global_step >= args.max_train_steps:
            break


class TrainerThatSplitsUnlessTold:
    def __init__(self, optimizer, num_train_steps, split_batches=True):
        self.accelerator = Accelerator(split_batches=split_batches)
        self.num_train_steps = num_train_steps
        self.scheduler = CosineAnnealingLR(optimizer, T_max=num_train_steps)
        self.optimizer, self.scheduler = self.accelerator.prepare(optimizer, self.scheduler)

    def train(self, model, batches):
        step = 0
        while step < self.num_train_steps:
            self.accelerator.backward(model(next(batches)).loss)
            self.scheduler.step()
            step += 1


class TrainerThatIsToldEverything:
    def __init__(self, optimizer, num_train_steps, accelerate_kwargs):
        self.accelerator = Accelerator(**accelerate_kwargs)
        self.num_train_steps = num_train_steps
        self.scheduler = CosineAnnealingLR(optimizer, T_max=num_train_steps)
        self.optimizer, self.scheduler = self.accelerator.prepare(optimizer, self.scheduler)

    def train(self, model, batches):
        step = 0
        while step < self.num_train_steps:
            self.accelerator.backward(model(next(batches)).loss)
            self.scheduler.step()
            step += 1


class TrainerThatKeepsAnotherNumber:
    def __init__(self, optimizer, epochs, num_train_steps):
        self.accelerator = Accelerator()
        self.num_train_steps = num_train_steps // self.accelerator.num_processes
        self.scheduler = CosineAnnealingLR(optimizer, T_max=num_train_steps)
        self.optimizer, self.scheduler = self.accelerator.prepare(optimizer, self.scheduler)

    def train(self, model, batches):
        step = 0
        while step < self.num_train_steps:
            self.accelerator.backward(model(next(batches)).loss)
            self.scheduler.step()
            step += 1


def falling(total):
    return lambda step: 1 - step / total


def divided_and_multiplied(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    per_epoch = math.ceil(len(loader) / accelerator.num_processes)
    steps = epochs * per_epoch * accelerator.num_processes
    scheduler = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=steps)
    return accelerator.prepare(model, optimizer, loader, scheduler)


def function_of_the_step_unprepared(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    return model, LambdaLR(optimizer, falling(epochs * len(loader)))


def steps_of_all(model, optimizer, loader, args):
    accelerator = Accelerator()
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_warmup_steps=args.warmup_steps * accelerator.num_processes,
        num_training_steps=args.max_train_steps * accelerator.num_processes,
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for _ in range(args.max_train_steps):
        optimizer.step()
        scheduler.step()


def from_the_length_before(model, optimizer, loader, epochs):
    accelerator = Accelerator()
    steps = epochs * len(loader)
    scheduler = get_scheduler(
        "cosine", optimizer=optimizer, num_warmup_steps=0, num_training_steps=steps
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for _ in range(epochs):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
            scheduler.step()


def from_the_length_before_in_the_call(model, optimizer, loader, args):
    # tango 34ecd38 mustango/diffusers/examples/unconditional_image_generation/train_unconditional.py:494
    accelerator = Accelerator()
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_warmup_steps=0,
        num_training_steps=(len(loader) * args.num_epochs),
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for _ in range(args.num_epochs):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
            scheduler.step()


def not_prepared(model, optimizer, loader, args):
    accelerator = Accelerator()
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_warmup_steps=0,
        num_training_steps=args.max_train_steps,
    )
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(args.max_train_steps):
        optimizer.step()
        scheduler.step()


def split_batches(model, optimizer, loader, args):
    accelerator = Accelerator(split_batches=True)
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_warmup_steps=0,
        num_training_steps=args.max_train_steps,
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for _ in range(args.max_train_steps):
        optimizer.step()
        scheduler.step()


def with_keywords_alone(optimizer, args):
    accelerator = Accelerator()
    scheduler = get_cosine_schedule_with_warmup(
        optimizer=optimizer,
        num_warmup_steps=args.warmup * accelerator.num_processes,
        num_training_steps=args.max_train_steps * accelerator.num_processes,
    )
    return accelerator.prepare(optimizer, scheduler)


def multiplied_where_it_is_given(model, optimizer, loader, args):
    accelerator = Accelerator()
    if args.max_steps is None:
        args.max_steps = args.epochs * len(loader)
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_training_steps=args.max_steps * accelerator.num_processes,
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    step = 0
    for epoch in range(args.epochs):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
            scheduler.step()
            step += 1
            if step >= args.max_steps:
                break


def computed_again(model, optimizer, loader, args):
    accelerator = Accelerator()
    if args.max_steps is None:
        args.max_steps = args.epochs * len(loader)
    scheduler = get_scheduler(
        "cosine",
        optimizer=optimizer,
        num_training_steps=args.max_steps,
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    args.max_steps = args.epochs * len(loader)
    step = 0
    for epoch in range(args.epochs):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
            scheduler.step()
            step += 1
            if step >= args.max_steps:
                break


def never_counted_to(model, optimizer, loader, args):
    accelerator = Accelerator()
    if args.max_steps is None:
        args.max_steps = args.epochs * len(loader)
    scheduler = get_scheduler("cosine", optimizer=optimizer, num_training_steps=args.max_steps)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
        scheduler.step()


def without_an_end(model, optimizer, loader, steps):
    accelerator = Accelerator(mixed_precision="fp16")
    scheduler = get_scheduler("constant", optimizer=optimizer, num_training_steps=steps)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    for _ in range(steps):
        accelerator.backward(model(next(loader)).loss)
        optimizer.step()
        scheduler.step()


class BackendThatSplits:
    # The batches are those of all processes: the scheduler steps once.
    def __init__(self):
        loaders = DataLoaderConfiguration(split_batches=True)
        self.accelerator = Accelerator(dataloader_config=loaders)

    def prepare_both(self, optimizer, lr_scheduler):
        optimizer = self.accelerator.prepare_optimizer(optimizer)
        lr_scheduler = self.accelerator.prepare_scheduler(lr_scheduler)
        return optimizer, lr_scheduler


class TrainerOfABackendThatSplits:
    def __init__(self, backend, args):
        self.backend = backend
        self.args = args

    def set_up(self, optimizer):
        self.scheduler = get_scheduler(
            "cosine", optimizer=optimizer, num_training_steps=self.args.max_steps
        )
        self.optimizer, self.scheduler = self.backend.prepare_both(optimizer, self.scheduler)

    def train(self, model, batches):
        step = 0
        while step < self.args.max_steps:
            self.backend.accelerator.backward(model(next(batches)).loss)
            self.scheduler.step()
            step += 1


class TrainerThatMultiplies:
    def __init__(self, optimizer, args):
        self.args = args
        self.accelerator = Accelerator()
        self.scheduler = get_scheduler(
            "cosine",
            optimizer=optimizer,
            num_training_steps=self.args.max_steps * self.accelerator.num_processes,
        )
        self.optimizer, self.scheduler = self.accelerator.prepare(optimizer, self.scheduler)
        self.step = 0

    def train(self, model, batches):
        while self.step < self.args.max_steps:
            self.accelerator.backward(model(next(batches)).loss)
            self.scheduler.step()
            self.step += 1


class TrainerThatLeavesItUnprepared:
    def __init__(self, backend, args):
        self.backend = backend
        self.args = args

    def set_up(self, optimizer):
        self.scheduler = get_scheduler(
            "cosine", optimizer=optimizer, num_training_steps=self.args.max_steps
        )
        self.optimizer, _ = self.backend.prepare_optimizer(optimizer, None)

    def train(self, model, batches):
        step = 0
        while step < self.args.max_steps:
            self.backend.accelerator.backward(model(next(batches)).loss)
            self.scheduler.step()
            step += 1


def plateau_of_all_processes(optimizer, evaluate, config):
    accelerator = Accelerator()
    patience = config.patience
    scheduler = ReduceLROnPlateau(optimizer, patience=patience * accelerator.num_processes)
    optimizer, scheduler = accelerator.prepare(optimizer, scheduler)
    for _ in range(config.epochs):
        scheduler.step(accelerator.gather(evaluate()).mean())


def plateau_that_is_not_prepared(optimizer, evaluate, config):
    accelerator = Accelerator()
    scheduler = ReduceLROnPlateau(optimizer, patience=config.patience)
    optimizer = accelerator.prepare(optimizer)
    for _ in range(config.epochs):
        scheduler.step(accelerator.gather(evaluate()).mean())


def plateau_of_split_batches(optimizer, evaluate, config):
    accelerator = Accelerator(split_batches=True)
    scheduler = ReduceLROnPlateau(optimizer, patience=config.patience)
    optimizer, scheduler = accelerator.prepare(optimizer, scheduler)
    scheduler.step(accelerator.gather(evaluate()).mean())


def of_the_engine(optimizer, config):
    # LongVA f4c8781 text_extend/text_extend_train.py:104: what stands for DeepSpeed's scheduler has no steps of its own
    accelerator = Accelerator()
    scheduler = DummyScheduler(optimizer, num_training_steps=config.max_train_steps)
    optimizer, scheduler = accelerator.prepare(optimizer, scheduler)
    for step in range(config.max_train_steps):
        scheduler.step()
