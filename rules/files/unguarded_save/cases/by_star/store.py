import torch


def keep(net, folder):
    torch.save(net.state_dict(), f"{folder}/best.pth")  # expect: DL301
