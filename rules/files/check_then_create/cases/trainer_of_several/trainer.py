"""A trainer that waits for the other processes, where there are any."""

import torch.distributed as dist


class PlainTrainer:
    def __init__(self, args):
        self.args = args

    def process(self):
        if dist.is_initialized():
            dist.barrier()
        for batch in self.args.batches:
            self.args.model(batch)
