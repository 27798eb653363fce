import os
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from gpt import GPT, GPTConfig
from shards import DistributedDataLoader


@dataclass
class Hyperparameters:
    input_bin: str = "data/fineweb10B/fineweb_train_*.bin"
    batch_size: int = 64
    sequence_length: int = 1024
    num_iterations: int = 6200
    learning_rate: float = 3.6e-4


def main():
    args = Hyperparameters()
    dist.init_process_group(backend="nccl")
    ddp_rank = int(os.environ["RANK"])
    ddp_local_rank = int(os.environ["LOCAL_RANK"])
    ddp_world_size = int(os.environ["WORLD_SIZE"])
    device = f"cuda:{ddp_local_rank}"
    torch.cuda.set_device(device)
    master_process = ddp_rank == 0
    loader = DistributedDataLoader(args.input_bin, args.batch_size, args.sequence_length, ddp_rank, ddp_world_size)
    model = DDP(torch.compile(GPT(GPTConfig()).cuda()), device_ids=[ddp_local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    logfile = None
    if master_process:
        os.makedirs("logs", exist_ok=True)
        logfile = f"logs/{time.strftime('%Y%m%d_%H%M%S')}.log"
    x, y = loader.next_batch()
    for step in range(args.num_iterations):
        _, loss = model(x, y)
        train_loss = loss.detach()
        x, y = loader.next_batch()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        dist.all_reduce(train_loss, op=dist.ReduceOp.AVG)
        if master_process:
            print(f"step:{step + 1}/{args.num_iterations} train loss {train_loss.item():.4f}")
            with open(logfile, "a") as f:
                f.write(f"s:{step} trl:{train_loss.item():.4f}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
