import torch

from clip.saving import train


def convert(path):
    return {key.removeprefix("module."): value for key, value in torch.load(path).items()}


def main(net, path):
    train(net, path)
