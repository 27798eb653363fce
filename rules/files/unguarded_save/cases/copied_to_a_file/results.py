import os
import shutil

import torch
import torch.distributed as dist


def sent(source, target):
    shutil.copy(source, target)  # expect: DL301


def results(found, folder, result_file):
    own = os.path.join(folder, f"found_{dist.get_rank()}.pth")
    torch.save(found, own)
    sent(own, result_file)
    dist.barrier()
