"""One script has the model wrapped, whatever the launch (SIMPL 2a33314 train_ddp.py:203)."""

import torch.distributed as dist

from loading import Loading


def main():
    dist.init_process_group("nccl")
    net = Loading(2, wrapped=True).load()
    print(net.module.weight)


if __name__ == "__main__":
    main()
