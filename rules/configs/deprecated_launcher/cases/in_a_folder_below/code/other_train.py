import argparse

import main_train
import torch.distributed as dist

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--local-rank", type=int, default=0)
    options = parser.parse_args()
    dist.init_process_group("nccl")
    print(main_train, options.local_rank)
