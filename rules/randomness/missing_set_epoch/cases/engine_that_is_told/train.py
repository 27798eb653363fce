"""The loader of an engine is told the epoch, or is none of the engine's."""

import deepspeed


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
