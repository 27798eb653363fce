# ParlAI a29567f parlai/utils/io.py: one object of iopath's for all files of the project; mae_st c5dec1b util/misc.py
import torch
import torch.distributed as dist
from iopath.common.file_io import PathManagerFactory
from store import PathManager

pathmgr = PathManagerFactory.get(key="train")


def by_all(model, path):
    dist.barrier()
    with PathManager.open(path, "wb") as file:  # expect: DL301
        torch.save(model.state_dict(), file)


def through_the_factory(model, path):
    dist.barrier()
    with pathmgr.open(path, "wb") as file:  # expect: DL301
        torch.save(model.state_dict(), file)
