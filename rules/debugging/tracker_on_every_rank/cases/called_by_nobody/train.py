import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.tensorboard import SummaryWriter


def train_alone(model, loader):
    # dot-tokens-communication ac31a23 train_fsdp.py:446: the script does not come here
    writer = SummaryWriter("runs")
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        writer.add_scalar("loss", loss, step)


def train(model, loader):
    dist.init_process_group("nccl")
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    model = DDP(model)
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        if writer is not None:
            writer.add_scalar("loss", loss, step)


if __name__ == "__main__":
    train(torch.nn.Linear(4, 4), [])
