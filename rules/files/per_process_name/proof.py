"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

Each rank makes up an identifier of its own: the run is spread over two directories.
"""

import uuid
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
dist.barrier()
run = Path("run-" + uuid.uuid4().hex)
run.mkdir(exist_ok=True)  # expect: DL304
dist.barrier()
runs = [path.name for path in Path().glob("run-*")]
assert len(runs) == 1, f"one run has {len(runs)} directories"
dist.destroy_process_group()
