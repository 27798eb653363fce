"""FSDP clips over all shards; `unwrap` would clip one rank's."""

from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel


def train(net, batches, sharded, optimizer):
    net = FullyShardedDataParallel(net) if sharded else DistributedDataParallel(net)
    for batch in batches:
        net(batch).mean().backward()
        if sharded:
            net.clip_grad_norm_(1.0)
        optimizer.step()
