import os

import torch

RANK = int(os.environ["RANK"])
IS_MAIN = RANK == 0


def keep(model, path):
    torch.save(model.module.state_dict(), path)
