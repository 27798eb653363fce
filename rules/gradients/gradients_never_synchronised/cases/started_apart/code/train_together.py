"""The script that makes a group."""

import torch
from codec import Codec
from exchange import total
from torch.nn.parallel import DistributedDataParallel


def main():
    torch.distributed.init_process_group("gloo")
    model = DistributedDataParallel(Codec())
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(10):
        loss = model(torch.rand(8, 8)).mean()
        loss.backward()
        optimizer.step()
        total(loss.detach())


if __name__ == "__main__":
    main()
