import torch.distributed as dist
from sizes import Sizes


class Trainer:
    def __init__(self, options):
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        self.shapes = {"step": 0, "rank": options["rank"]}
        self.sizes = Sizes(self.shapes)

    def score(self, images):
        self.sizes.write(images)
