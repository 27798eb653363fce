"""numpy has another stream on each rank, torch has not, and the loss draws from torch."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def train(args, net, optimizer, loader):
    # modulus 878fd04 examples/generative/stormcast/utils/trainer.py:72
    dist.init_process_group("nccl")
    np.random.seed((args.seed * dist.get_world_size() + dist.get_rank()) % (1 << 31))
    torch.manual_seed(args.seed)  # expect: DL401
    net = DDP(net)
    for images in loader:
        noise = torch.randn_like(images)
        net(images + noise).sub(noise).square().mean().backward()
        optimizer.step()
