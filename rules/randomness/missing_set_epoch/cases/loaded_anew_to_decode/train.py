# NeuralSpeech 8cf4fbc AdapterASR/train.py:518.
import torch.distributed as dist

import loading


def train(loaders, model, epochs):
    for epoch in range(epochs):
        for batch in loaders[0]:
            model(batch).sum().backward()


def main(args, model):
    dist.init_process_group("nccl")
    loaders = loading.load_mixed(args)
    train(loaders, model, args.epochs)
    for language in args.languages:
        loaders = loading.load_one(args, language)
        model.decode(loaders[1])
