"""What a DeepSpeed engine has is asked of the engine."""

import deepspeed
import torch
from torch.nn.parallel import DistributedDataParallel


def wrap(net, engine):
    if engine == "deepspeed":
        net, _, _, _ = deepspeed.initialize(model=net)
    else:
        net = DistributedDataParallel(net)
    return net


def step(net, engine, loss, optimizer):
    if engine == "deepspeed":
        net.backward(loss)
        boundary = net.is_gradient_accumulation_boundary()
        net.step()
        return boundary, net.get_global_grad_norm()
    loss.backward()
    optimizer.step()
    return True, torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)


def train(net, batches, engine, optimizer):
    net = wrap(net, engine)
    for batch in batches:
        step(net, engine, net(batch).mean(), optimizer)
