import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import BertConfig, BertModel

from text_pairs import pair_loader


def main():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = DDP(BertModel(BertConfig()).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    loader, sampler = pair_loader()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for question, answer in loader:
            q = model(**question).pooler_output
            a = model(**answer).pooler_output
            loss = nn.functional.cross_entropy(q @ a.t(), torch.arange(len(q), device=q.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
