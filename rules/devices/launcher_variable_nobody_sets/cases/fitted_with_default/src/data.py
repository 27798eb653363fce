import os

import torch.distributed as dist


class Samples:
    def __iter__(self):
        machines = int(os.environ.get("NODES", 1))
        return iter(range(dist.get_world_size() // machines))
