import torch
import torch.distributed as dist


def reduce_soon(gradient):
    gradient.div_(dist.get_world_size())
    dist.all_reduce(gradient, async_op=True)


wait_for_all = torch.cuda.synchronize
