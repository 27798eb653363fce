import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def bench(num_nodes, node_rank, gpus, gpu):
    dist.init_process_group("gloo", init_method="tcp://10.0.0.1:29500", world_size=num_nodes, rank=node_rank)
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    data = torch.ones(8, device="cuda:0")
    dist.barrier()
    return model(data)


parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int)
parser.add_argument("--node", type=int)
parser.add_argument("--gpus", type=int)
parser.add_argument("--gpu", type=int)
args = parser.parse_args()
bench(args.nodes, args.node, args.gpus, args.gpu)
