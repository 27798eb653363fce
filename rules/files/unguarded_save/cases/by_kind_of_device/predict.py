"""Files with something of the device in their names that all ranks have alike."""

import os

import numpy as np
import torch
import torch.distributed as dist


class Predicting(torch.nn.Module):
    def keep_by_kind_of_device(self, found, out):
        dist.barrier()
        where = next(self.parameters()).device.type
        np.save(os.path.join(out, "found_" + str(where) + ".npy"), found)  # expect: DL301

    def keep_by_type(self, found, out):
        dist.barrier()
        where = next(self.parameters()).dtype
        np.save(os.path.join(out, "found_" + str(where) + ".npy"), found)  # expect: DL301


def keep_by_count(found, out):
    dist.barrier()
    np.save(os.path.join(out, f"found_{torch.cuda.device_count()}.npy"), found)  # expect: DL301


def keep_by_tensor_of_the_host(found, out, size):
    dist.barrier()
    sums = torch.zeros(size)
    np.save(os.path.join(out, f"{sums.device}.npy"), found)  # expect: DL301


def keep_by_shape(found, out, head):
    dist.barrier()
    np.save(os.path.join(out, f"{head.weight.numel()}.npy"), found)  # expect: DL301
