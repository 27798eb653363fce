"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

Rank 1 cannot reach the server, and returns before the barrier in which rank 0 waits.
"""

import urllib.request
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
here = Path(f"data-{dist.get_rank()}.txt").resolve()
if dist.get_rank() == 0:
    here.write_text("data")


def prepare(url):
    try:
        data = urllib.request.urlopen(url).read()  # expect: DL105
    except OSError:
        return None
    dist.barrier()
    return data


print(prepare(here.as_uri()))
dist.destroy_process_group()
