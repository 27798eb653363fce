# X-VLM cb4fff1 dataset/utils.py:146: what is copied into a folder keeps its name, in which the rank is
import os
import shutil

import torch
import torch.distributed as dist


def sent(source, target):
    shutil.copy(source, target)


def results(found, folder, result_dir):
    own = os.path.join(folder, f"found_{dist.get_rank()}.pth")
    torch.save(found, own)
    sent(own, result_dir)
    dist.barrier()
