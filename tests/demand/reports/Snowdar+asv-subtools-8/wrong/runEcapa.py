import argparse
import os

import torch
import torch.distributed as dist

from dataset import BaseBunch
from ecapa import ECAPA_TDNN
from trainer import SimpleTrainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--egs", default="exp/egs")
    parser.add_argument("--epochs", type=int, default=21)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    bunch = BaseBunch.get_bunch_from_csv(f"{args.egs}/train.csv", f"{args.egs}/valid.csv", batch_size=256)
    model = torch.nn.parallel.DistributedDataParallel(ECAPA_TDNN().cuda(), device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    SimpleTrainer(bunch, model, optimizer, args.epochs).run()


if __name__ == "__main__":
    main()
