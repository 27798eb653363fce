"""The loader of an engine is told the epoch, or is none of the engine's."""

import deepspeed
from timm.data import create_loader


def told_by_the_engines_loader(net, data, epochs):
    engine, _, batches, _ = deepspeed.initialize(model=net, training_data=data)
    for epoch in range(epochs):
        batches.data_sampler.set_epoch(epoch)
        for batch in batches:
            engine.backward(engine(batch).sum())
            engine.step()


def engine_without_data(net, loader, epochs):
    engine, *_ = deepspeed.initialize(model=net, training_data=None)
    for epoch in range(epochs):
        for batch in loader:
            engine.backward(engine(batch).sum())
            engine.step()


def loader_of_timm_that_is_told(model, data, args):
    batches = create_loader(data, 224, 8, is_training=True, distributed=args.distributed)
    for epoch in range(args.epochs):
        if args.distributed and hasattr(batches.sampler, "set_epoch"):
            batches.sampler.set_epoch(epoch)
        for batch, labels in batches:
            model(batch, labels).backward()


def loader_of_timm_to_evaluate(model, data, args):
    held_out = create_loader(data, 224, 8, is_training=False, distributed=args.distributed)
    for epoch in range(args.epochs):
        for batch, labels in held_out:
            model(batch, labels)
