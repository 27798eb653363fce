import os

import torch
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

from llama import ModelArgs, Transformer
from pretrain_data import make_loader

out_dir = "out/pretrain"
max_epoch = 1
save_interval = 10_000
os.makedirs(out_dir, exist_ok=True)


def train_epoch(epoch, model, raw_model, optimizer, loader, ddp, device):
    for step, (X, Y) in enumerate(loader):
        model(X.to(device), Y.to(device))
        loss = raw_model.last_loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % save_interval == 0:
            if ddp:
                if torch.distributed.get_rank() == 0:
                    model.eval()
                    torch.save(model.module.state_dict(), f"{out_dir}/iter_{step}.pth")
                    model.train()
            else:
                torch.save(raw_model.state_dict(), f"{out_dir}/iter_{step}.pth")
    if ddp and torch.distributed.get_rank() == 0:
        torch.save(raw_model.state_dict(), f"{out_dir}/epoch_{epoch}.pth")
    else:
        torch.save(raw_model.state_dict(), f"{out_dir}/epoch_{epoch}.pth")


def main():
    ddp = int(os.environ.get("RANK", -1)) != -1
    device = "cuda"
    if ddp:
        init_process_group(backend="nccl")
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    raw_model = Transformer(ModelArgs()).to(device)
    optimizer = torch.optim.AdamW(raw_model.parameters(), lr=3e-4)
    model = DDP(raw_model, device_ids=[int(os.environ["LOCAL_RANK"])]) if ddp else raw_model
    loader, sampler = make_loader(ddp)
    for epoch in range(max_epoch):
        if ddp:
            sampler.set_epoch(epoch)
        train_epoch(epoch, model, raw_model, optimizer, loader, ddp, device)
    if ddp:
        destroy_process_group()


if __name__ == "__main__":
    main()
