import argparse

import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank, url):
    dist.init_process_group("gloo", init_method=url, world_size=2, rank=rank)
    dist.barrier()


parser = argparse.ArgumentParser()
parser.add_argument("--dist_url", default="tcp://localhost:23456")
mp.spawn(worker, args=(parser.parse_args().dist_url,), nprocs=2)
