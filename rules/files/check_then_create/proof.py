"""Goes wrong on 2 ranks: fails with error FileNotFoundError.

Both ranks find the folder before either has moved it, so both move it.
"""

import os
import time
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
Path("unpacked").mkdir(exist_ok=True)
dist.barrier()
if os.path.exists("unpacked"):  # noqa: PTH110
    time.sleep(0.5)
    os.rename("unpacked", "cache")  # noqa: PTH104  # expect: DL305
dist.barrier()
dist.destroy_process_group()
