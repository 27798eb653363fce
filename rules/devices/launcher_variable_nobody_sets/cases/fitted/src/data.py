import os

import torch.distributed as dist


class Samples:
    def __iter__(self):
        machines = int(os.environ.get("NODES", None))  # expect: DL514
        return iter(range(dist.get_world_size() // machines))
