import torch


def keep(model, path):
    torch.save(model.state_dict(), path)
