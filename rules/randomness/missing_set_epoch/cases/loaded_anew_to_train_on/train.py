import torch.distributed as dist

import loading


def train(loaders, model, epochs):
    for epoch in range(epochs):
        for batch in loaders[0]:
            model(batch).sum().backward()


def main(args, model):
    dist.init_process_group("nccl")
    loaders = loading.load_one(args, "en")
    for language in args.languages:
        train(loaders, model, args.epochs)
        loaders = loading.load_one(args, language)
