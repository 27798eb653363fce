import argparse
import os

import torch
from mmcv import Config
from mmcv.parallel import MMDataParallel, MMDistributedDataParallel
from mmcv.runner import init_dist, load_checkpoint

from mmdet3d.apis import single_gpu_test
from mmdet3d.datasets import build_dataloader, build_dataset
from mmdet3d.models import build_model


def parse_args():
    parser = argparse.ArgumentParser(description="MMDet test (and eval) a model")
    parser.add_argument("config")
    parser.add_argument("checkpoint")
    parser.add_argument("--gpu", default="1")
    parser.add_argument("--launcher", choices=["none", "pytorch"], default="none")
    return parser.parse_args()


def main():
    args = parse_args()
    cfg = Config.fromfile(args.config)
    if torch.cuda.is_available():
        torch.cuda.init()
        print("using", torch.cuda.get_device_name())
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu
    distributed = args.launcher != "none"
    if distributed:
        init_dist(args.launcher, **cfg.dist_params)
    dataset = build_dataset(cfg.data.test)
    loader = build_dataloader(dataset, samples_per_gpu=1, workers_per_gpu=2, dist=distributed, shuffle=False)
    model = build_model(cfg.model, test_cfg=cfg.get("test_cfg"))
    load_checkpoint(model, args.checkpoint, map_location="cpu")
    if distributed:
        model = MMDistributedDataParallel(model.cuda(), device_ids=[torch.cuda.current_device()])
    else:
        model = MMDataParallel(model.cuda(), device_ids=[0])
    single_gpu_test(model, loader)


if __name__ == "__main__":
    main()
