"""Goes wrong on 2 ranks: fails with error FileExistsError.

Both ranks ask before either has made the directory, so both make it.
"""

import os
import time
from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
dist.barrier()
if not os.path.exists("cache"):  # noqa: PTH110
    time.sleep(0.5)
    os.mkdir("cache")  # noqa: PTH102  # expect: DL305
dist.barrier()
dist.destroy_process_group()
