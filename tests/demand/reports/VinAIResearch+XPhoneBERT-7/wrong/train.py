import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

import utils
from data_utils import DistributedBucketSampler, TextAudioCollate, TextAudioLoader
from models import SynthesizerTrn


def main():
    n_gpus = torch.cuda.device_count()
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "8000"
    hps = utils.get_hparams()
    mp.spawn(run, nprocs=n_gpus, args=(n_gpus, hps))


def run(rank, n_gpus, hps):
    dist.init_process_group(backend="nccl", init_method="env://", world_size=n_gpus, rank=rank)
    torch.manual_seed(hps.train.seed)
    torch.cuda.set_device(rank)

    train_dataset = TextAudioLoader(hps.data.training_files, hps.data)
    train_sampler = DistributedBucketSampler(train_dataset, hps.train.batch_size, num_replicas=n_gpus, rank=rank)
    train_loader = DataLoader(train_dataset, collate_fn=TextAudioCollate(), batch_sampler=train_sampler)
    net_g = SynthesizerTrn(hps.data.filter_length, hps.bert).cuda(rank)
    net_g = DDP(net_g, device_ids=[rank])
    optim_g = torch.optim.AdamW(net_g.parameters(), hps.train.learning_rate)

    for epoch in range(1, hps.train.epochs + 1):
        train_sampler.set_epoch(epoch)
        if epoch < hps.train.bert_frozen_epochs:
            for param in net_g.enc_p.bert.parameters():
                param.requires_grad = False
        for x, spec, y in train_loader:
            loss = net_g(x.cuda(rank), spec.cuda(rank), y.cuda(rank)).mean()
            optim_g.zero_grad()
            loss.backward()
            optim_g.step()


if __name__ == "__main__":
    main()
