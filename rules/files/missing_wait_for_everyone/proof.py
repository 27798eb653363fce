"""Goes wrong on 2 ranks: fails with error FileNotFoundError.

Rank 1 reads the file at once, while rank 0 is still preparing what it will write.
"""

import json
import time
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
dist.barrier()
if dist.get_rank() == 0:
    time.sleep(0.8)
    Path("stats.json").write_text(json.dumps({"mean": 0.5}))
assert json.loads(Path("stats.json").read_text()) == {"mean": 0.5}  # expect: DL302
dist.barrier()
dist.destroy_process_group()
