"""DGL's loader of graphs makes a DistributedSampler where it is told to."""

import torch
from dgl.dataloading import GraphDataLoader
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Run:
    def __init__(self, model, data):
        # modulus 878fd04 examples/cfd/vortex_shedding_mgn/train.py:70
        self.dataloader = GraphDataLoader(  # expect: DL403
            data, batch_size=8, shuffle=True, use_ddp=dist.get_world_size() > 1
        )
        self.model = DistributedDataParallel(model)

    def step(self, graph):
        self.model(graph).sum().backward()


def train(model, data, epochs):
    run = Run(model, data)
    for epoch in range(epochs):
        for graph in run.dataloader:
            run.step(graph)


def train_in_one(model, data, epochs):
    loader = GraphDataLoader(data, batch_size=8, shuffle=True, use_ddp=True)  # expect: DL403
    for epoch in range(epochs):
        for graph in loader:
            model(graph).sum().backward()


def main(model, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())
    train(model, data, 10)
    train_in_one(model, data, 10)


if __name__ == "__main__":
    main(torch.nn.Linear(4, 4), list(range(8)))
