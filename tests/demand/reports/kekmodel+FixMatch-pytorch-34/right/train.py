import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, RandomSampler
from torch.utils.data.distributed import DistributedSampler

from cifar import get_cifar10
from wideresnet import build_wideresnet


def main():
    parser = argparse.ArgumentParser(description="PyTorch FixMatch Training")
    parser.add_argument("--batch-size", default=64, type=int)
    parser.add_argument("--mu", default=7, type=int)
    parser.add_argument("--eval-step", default=1024, type=int)
    parser.add_argument("--total-steps", default=2**20, type=int)
    parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
    args = parser.parse_args()
    if args.local_rank == -1:
        device = torch.device("cuda")
    else:
        torch.cuda.set_device(args.local_rank)
        device = torch.device("cuda", args.local_rank)
        torch.distributed.init_process_group(backend="nccl")
    labeled_dataset, unlabeled_dataset = get_cifar10("./data")
    train_sampler = RandomSampler if args.local_rank == -1 else DistributedSampler
    labeled_trainloader = DataLoader(
        labeled_dataset, sampler=train_sampler(labeled_dataset), batch_size=args.batch_size, drop_last=True
    )
    unlabeled_trainloader = DataLoader(
        unlabeled_dataset, sampler=train_sampler(unlabeled_dataset), batch_size=args.batch_size * args.mu, drop_last=True
    )
    model = build_wideresnet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
    if args.local_rank != -1:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.local_rank])
    train(args, labeled_trainloader, unlabeled_trainloader, model, optimizer, device)


def train(args, labeled_trainloader, unlabeled_trainloader, model, optimizer, device):
    labeled_iter = iter(labeled_trainloader)
    unlabeled_iter = iter(unlabeled_trainloader)
    labeled_epoch = unlabeled_epoch = 0
    model.train()
    for epoch in range(args.total_steps // args.eval_step):
        for _ in range(args.eval_step):
            try:
                inputs_x, targets_x = next(labeled_iter)
            except StopIteration:
                labeled_epoch += 1
                if args.local_rank != -1:
                    labeled_trainloader.sampler.set_epoch(labeled_epoch)
                labeled_iter = iter(labeled_trainloader)
                inputs_x, targets_x = next(labeled_iter)
            try:
                (inputs_w, inputs_s), _ = next(unlabeled_iter)
            except StopIteration:
                unlabeled_epoch += 1
                if args.local_rank != -1:
                    unlabeled_trainloader.sampler.set_epoch(unlabeled_epoch)
                unlabeled_iter = iter(unlabeled_trainloader)
                (inputs_w, inputs_s), _ = next(unlabeled_iter)
            logits = model(torch.cat([inputs_x, inputs_w, inputs_s]).to(device))
            loss = F.cross_entropy(logits[: len(inputs_x)], targets_x.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
