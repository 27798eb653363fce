"""Evaluates a net."""

import deepspeed
import torch
from train import batches_of


def main(net):
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")  # expect: DL503
    deepspeed.init_distributed()
    net.to(device)
    with torch.no_grad():
        return sum(net(batch.to(device)).sum() for batch in batches_of("held_out.pt"))


if __name__ == "__main__":
    print(main(torch.nn.Linear(8, 1)))
