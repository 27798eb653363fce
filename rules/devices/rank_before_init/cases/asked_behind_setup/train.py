import os

import torch.distributed as dist


def set_up():
    if not dist.is_initialized():
        dist.init_process_group("nccl")


def main():
    if dist.is_initialized() and dist.get_rank() == 0:
        os.makedirs("out", exist_ok=True)
    set_up()
    evaluate()
    print(dist.get_rank())


def evaluate():
    print(dist.get_world_size())
    set_up()


if __name__ == "__main__":
    main()
