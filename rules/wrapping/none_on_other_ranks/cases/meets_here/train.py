# rNPC d6dfe4b main_ddp.py:228
import os

import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def main(args):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29500"
    local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=args.number)
    writer = SummaryWriter(args.folder) if dist.get_rank() == 0 else None
    for epoch in range(args.epochs):
        dist.barrier()
        if local_rank == 0:
            writer.add_scalar("epoch", epoch)


if __name__ == "__main__":
    main(read())
