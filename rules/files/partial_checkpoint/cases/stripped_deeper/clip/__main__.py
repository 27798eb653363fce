import torch

from clip.saving import train


def load_weights(net, path):
    # LoRA c4593f0 examples/NLG/src/model.py:434: the prefix goes together with the name of a part.
    state = torch.load(path)["model"]
    for key in [*state]:
        if key.startswith("module.transformer."):
            state[key[len("module.transformer.") :]] = state.pop(key)
    net.load_state_dict(state, strict=False)


def main(net, path):
    train(net, path)
    load_weights(net, path)
