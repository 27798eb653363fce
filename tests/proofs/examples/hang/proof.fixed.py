"""Right on 2 ranks.

Both ranks reach the barrier.
"""

from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
dist.barrier()
dist.destroy_process_group()
