import torch
import torch.distributed as dist


class Keeper:
    def __init__(self, args):
        self.ddp = args.ddp
        self.local_rank = args.local_rank if self.ddp else None

    def __call__(self, step, state):
        if self.ddp:
            if self.local_rank == 0:
                self.keep(state)
            dist.barrier()
        else:
            self.keep(state)

    def keep(self, state):
        torch.save(state, "best.pth")
