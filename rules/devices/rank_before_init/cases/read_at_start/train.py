import torch.distributed as dist
from drawing.screen import context


def main():
    dist.init_process_group("nccl")
    print(context())
    dist.barrier()


if __name__ == "__main__":
    main()
