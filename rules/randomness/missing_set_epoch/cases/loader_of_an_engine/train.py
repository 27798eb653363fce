"""An engine makes the loader, with a sampler that shuffles."""

import deepspeed
from timm.data import create_loader
from tlt.data import create_token_label_loader


def loader_of_an_engine(net, data, epochs):
    engine, _, batches, _ = deepspeed.initialize(model=net, training_data=data)  # expect: DL403
    for epoch in range(epochs):
        for batch in batches:
            engine.backward(engine(batch).sum())
            engine.step()


def loader_of_timm(model, data, args):
    batches = create_loader(  # expect: DL403
        data, input_size=224, batch_size=8, is_training=True, distributed=args.distributed
    )
    for epoch in range(args.epochs):
        for batch, labels in batches:
            model(batch, labels).backward()


def loader_with_labels_of_patches(model, data, args):
    # volo cf35775 main.py:550, without the call
    batches = create_token_label_loader(  # expect: DL403
        data, batch_size=8, is_training=True, distributed=args.distributed
    )
    for epoch in range(args.epochs):
        for batch, labels in batches:
            model(batch, labels).backward()
