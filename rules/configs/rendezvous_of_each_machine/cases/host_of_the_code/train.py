"""Meets at the first host of a file."""

import os

import torch.distributed as dist


def main(hosts, port):
    address = "tcp://" + hosts[0] + ":" + str(port)
    ranks = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl", init_method=address, rank=int(os.environ["RANK"]), world_size=ranks)  # expect: DL810
    dist.barrier()


if __name__ == "__main__":
    with open("hosts") as lines:
        main(lines.read().split(), 29600)
