"""Workers of a single controller: each gets its part of the batch."""

import torch.distributed as dist
from dispatch import Dispatch, register
from parts import Parts
from policy import Policy


class Worker:
    def __init__(self):
        dist.init_process_group("nccl")
        self.policy = Policy()

    @register(dispatch_mode=Dispatch.DP_COMPUTE_PROTO)
    def update(self, data):
        metrics = self.policy.update_policy(data)
        return Parts(meta_info={"metrics": metrics})
