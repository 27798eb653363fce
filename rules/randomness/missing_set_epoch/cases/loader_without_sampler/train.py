"""DGL's loaders where nobody has to be told the epoch."""

import torch
from dgl.dataloading import DataLoader, GraphDataLoader
from torch import distributed as dist


def one_process(model, data, epochs, use_ddp=False):
    loader = GraphDataLoader(data, batch_size=8, shuffle=True, use_ddp=use_ddp)
    plain = GraphDataLoader(data, batch_size=8, shuffle=True)
    for epoch in range(epochs):
        for graph, other in zip(loader, plain):
            model(graph, other).sum().backward()


def in_order(model, data, epochs):
    loader = GraphDataLoader(data, batch_size=8, use_ddp=True)
    for epoch in range(epochs):
        for graph in loader:
            model(graph).sum().backward()


def of_nodes(model, graph, nodes, sampler, epochs):
    # DGL's loader of nodes draws anew in each pass.
    loader = DataLoader(graph, nodes, sampler, batch_size=8, shuffle=True, use_ddp=True)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def main(model, data, graph):
    dist.init_process_group("nccl")
    one_process(model, data, 10)
    in_order(model, data, 10)
    of_nodes(model, graph, range(100), None, 10)


if __name__ == "__main__":
    main(torch.nn.Linear(4, 4), list(range(8)), None)
