import os

import torch
import torch.multiprocessing as mp
from engine import work


def main(config):
    # SegVol 5768c97 train.py:212: the address is this machine's, whatever its number is
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29400"
    config.ranks = torch.cuda.device_count()
    mp.spawn(work, nprocs=config.ranks, args=(config,))


if __name__ == "__main__":
    main(read())
