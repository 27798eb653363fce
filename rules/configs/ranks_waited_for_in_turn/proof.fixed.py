"""Goes wrong on 2 ranks: wrong result.
Fix: by hand
Launch: plain
Timeout: 120

Rank 1 ends before the group is formed. Rank 0 waits for it until its own timeout: nobody ends it.
"""

from datetime import timedelta
from pathlib import Path

import torch.distributed as dist
import torch.multiprocessing as mp

WAIT = timedelta(seconds=20)


def work(rank, folder):
    if rank == 1:
        raise FileNotFoundError("the data of rank 1")
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2, timeout=WAIT
        )
    finally:
        Path(folder, "waited").touch()


def main(folder):
    mp.spawn(work, nprocs=2, args=(folder,))


if __name__ == "__main__":
    try:
        main(Path.cwd())
    except mp.ProcessRaisedException as failure:
        print("rank 1 has failed, and says why:", failure)
    assert not Path("waited").exists(), "rank 0 waited for rank 1 to the end"
