"""A configuration names the file of the trainer that each process imports."""

import importlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import yaml


def work(gpu, gpus, config, args):
    args.gpu = gpu
    assert args.gpu is not None
    dist.init_process_group("nccl", world_size=gpus, rank=gpu)
    trainer = importlib.import_module(config["trainer"]["type"]).Trainer(args)
    for epoch in range(config["trainer"]["epochs"]):
        trainer.validate(args.loader, epoch)


def main(args):
    with open(args.config) as file:
        config = yaml.safe_load(file)
    gpus = torch.cuda.device_count()
    mp.spawn(work, args=(gpus, config, args), nprocs=gpus)
