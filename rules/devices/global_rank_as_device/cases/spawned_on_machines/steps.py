import torch
import torch.distributed as dist


def one_epoch(batches, args):
    for batch in batches:
        each = batch.cuda(args.rank)  # expect: DL504
        dist.all_reduce(each)


class Keeper:
    def __init__(self, args):
        self.args = args

    def resume(self, path):
        return torch.load(path, map_location=f"cuda:{self.args.rank}")
