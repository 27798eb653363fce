import os

import torch
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from astropt import GPT, GPTConfig, process_galaxy

batch_size = 16
max_iters = 30_000
learning_rate = 6e-4


def main():
    ddp = int(os.environ.get("RANK", -1)) != -1
    if ddp:
        init_process_group(backend="nccl")
        ddp_rank = int(os.environ["RANK"])
        ddp_local_rank = int(os.environ["LOCAL_RANK"])
        device = f"cuda:{ddp_local_rank}"
        torch.cuda.set_device(device)
        master_process = ddp_rank == 0
    else:
        master_process, device = True, "cuda"
    tds_hf = load_dataset("Smith42/galaxies", split="train", streaming=True)
    if ddp:
        tds_hf = split_dataset_by_node(tds_hf, rank=ddp_rank, world_size=int(os.environ["WORLD_SIZE"]))
    tds_hf = tds_hf.select_columns("image").map(process_galaxy).with_format("torch")
    tdl = iter(DataLoader(tds_hf, batch_size=batch_size, num_workers=8, pin_memory=True))
    model = GPT(GPTConfig()).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    if ddp:
        model = DDP(model, device_ids=[ddp_local_rank])
    for iter_num in range(max_iters):
        batch = next(tdl)
        _, loss = model(batch["x"].to(device), batch["y"].to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if iter_num % 100 == 0 and master_process:
            print(f"iter {iter_num}: loss {loss.item():.4f}")
    if ddp:
        destroy_process_group()


if __name__ == "__main__":
    main()
