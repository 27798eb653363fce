import os

import torch.distributed as dist


class Parts:
    """Each process of a machine reads its part of the images (DCNv4 f3b8d2c classification/dataset/samplers.py:70)."""

    def __init__(self, images, local_size=None):
        self.images = images
        self.local_size = local_size or int(os.environ.get("LOCAL_SIZE", 1))  # expect: DL514
        self.local_rank = int(os.environ.get("LOCAL_RANK", 0))
        self.size = dist.get_world_size()

    def __iter__(self):
        return (i for i in self.images if i % self.local_size == self.local_rank)


def from_slurm():
    os.environ["LOCAL_SIZE"] = os.environ["SLURM_NTASKS_PER_NODE"]
