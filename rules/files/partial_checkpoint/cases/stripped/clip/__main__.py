import torch

from clip.saving import train


def evaluate(net, path):
    state = torch.load(path)["model"]
    if next(iter(state)).startswith("module"):
        state = {key[len("module.") :]: value for key, value in state.items()}
    net.load_state_dict(state)


def main(net, path):
    train(net, path)
    evaluate(net, path)
