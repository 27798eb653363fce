"""Before there is a group every process is rank 0 to a guard: nothing is rewritten."""

import json

import torch.distributed as dist


def main(settings, path):
    with open(path, "w") as file:
        json.dump(settings, file)
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        print("started")
