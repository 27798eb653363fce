"""Files with the device of this process in their names."""

import os

import numpy as np
import torch
import torch.distributed as dist


class Predicting(torch.nn.Module):
    def keep_by_device(self, found, out):
        dist.barrier()
        where = next(self.parameters()).device
        np.save(os.path.join(out, "found_" + str(where) + ".npy"), found)


def keep_by_index(found, out):
    dist.barrier()
    np.save(os.path.join(out, f"found_{torch.cuda.current_device()}.npy"), found)


def keep_by_tensor(found, out, size):
    dist.barrier()
    sums = torch.zeros(size).cuda()
    np.save(os.path.join(out, f"{sums.device}.npy"), found)


def keep_by_weights(found, out, head):
    dist.barrier()
    np.save(os.path.join(out, f"{head.weight.get_device()}.npy"), found)
