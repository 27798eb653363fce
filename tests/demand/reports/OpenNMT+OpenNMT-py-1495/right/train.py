import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from onmt import build_model, build_trainer


def validate_train_opts(opt):
    if not os.path.exists(os.path.dirname(os.path.abspath(opt.save_model))):
        os.makedirs(os.path.dirname(os.path.abspath(opt.save_model)))


def build_model_saver(opt, device_id):
    save_model_path = os.path.abspath(opt.save_model)
    folder = os.path.dirname(save_model_path)
    os.makedirs(folder, exist_ok=True)
    return save_model_path if device_id == 0 else None


def run(device_id, opt):
    torch.cuda.set_device(device_id)
    dist.init_process_group("nccl", init_method=f"tcp://{opt.master_ip}:{opt.master_port}",
                            world_size=opt.world_size, rank=device_id)
    saver = build_model_saver(opt, device_id)
    trainer = build_trainer(opt, build_model(opt).cuda(), saver)
    trainer.train(opt.train_steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-save_model", default="models/run1/step")
    parser.add_argument("-world_size", type=int, default=2)
    parser.add_argument("-master_ip", default="localhost")
    parser.add_argument("-master_port", type=int, default=10000)
    parser.add_argument("-train_steps", type=int, default=100000)
    opt = parser.parse_args()
    mp.spawn(run, args=(opt,), nprocs=opt.world_size)


if __name__ == "__main__":
    main()
