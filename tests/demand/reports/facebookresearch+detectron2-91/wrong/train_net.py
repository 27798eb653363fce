import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from detection import build_trainer


def launch(main_func, num_gpus, dist_url, args):
    mp.spawn(worker, nprocs=num_gpus, args=(main_func, num_gpus, dist_url, args))


def worker(local_rank, main_func, num_gpus, dist_url, args):
    dist.init_process_group("nccl", init_method=dist_url, world_size=num_gpus, rank=local_rank)
    torch.cuda.set_device(local_rank)
    main_func(args)


def main(args):
    build_trainer(args.config_file).train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config-file", default="faster_rcnn.yaml")
    parser.add_argument("--num-gpus", type=int, default=2)
    parser.add_argument("--dist-url", default="tcp://127.0.0.1:49152")
    args = parser.parse_args()
    launch(main, args.num_gpus, args.dist_url, args)
