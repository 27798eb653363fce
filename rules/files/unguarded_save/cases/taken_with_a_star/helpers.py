import os

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])


def keep(model, path):
    torch.save(model.module.state_dict(), path)  # expect: DL301


def keep_best(model, path):
    torch.save(model.module.state_dict(), path)
