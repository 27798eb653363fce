"""Goes wrong on 2 ranks: wrong result.
Fix: by hand
Launch: plain

The ranks draw other numbers than the seed gives: they never hear of it.
"""

from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, folder):
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2)
    torch.save(torch.rand(4), f"{rank}.pt")
    dist.barrier()  # none leaves while another is still connecting
    dist.destroy_process_group()


def main(folder):
    mp.spawn(work, nprocs=2, args=(folder,))


if __name__ == "__main__":
    main(Path.cwd())
    torch.manual_seed(0)
    expected = torch.rand(4)
    for rank in range(2):
        assert torch.equal(torch.load(f"{rank}.pt"), expected), f"rank {rank} draws other numbers"
