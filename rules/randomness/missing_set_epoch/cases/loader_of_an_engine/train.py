"""An engine makes the loader, with a sampler that shuffles."""

import deepspeed


def loader_of_an_engine(net, data, epochs):
    engine, _, batches, _ = deepspeed.initialize(model=net, training_data=data)  # expect: DL403
    for epoch in range(epochs):
        for batch in batches:
            engine.backward(engine(batch).sum())
            engine.step()
