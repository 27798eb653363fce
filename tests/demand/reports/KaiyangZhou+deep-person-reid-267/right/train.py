import argparse
import os

import torch
import torch.nn as nn

from reid import build_model, build_engine, datamanager_of

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu-devices", default="0")
    parser.add_argument("--max-epoch", type=int, default=60)
    return parser.parse_args()


def main():
    args = parse()
    os.environ['CUDA_VISIBLE_DEVICES'] = args.gpu_devices
    manager = datamanager_of(args)
    model = build_model("osnet_x1_0", manager.num_train_pids)
    if torch.cuda.is_available():
        model = nn.DataParallel(model).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    engine = build_engine(manager, model, optimizer)
    engine.run(max_epoch=args.max_epoch)


if __name__ == "__main__":
    main()
