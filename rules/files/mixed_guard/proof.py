"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

In the last step every rank passes the test, and the slower one's file stays.
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
step, last = 3, 3
if rank == 0 and step % 2 == 0 or step == last:  # noqa: RUF021
    time.sleep(0.5 * rank)
    torch.save({"rank": rank}, "last.pt")  # expect: DL308
dist.barrier()
assert torch.load("last.pt")["rank"] == 0, "the checkpoint is another rank's"
dist.destroy_process_group()
