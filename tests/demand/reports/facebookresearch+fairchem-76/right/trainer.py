import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, config, model, loader, local_rank):
        self.config = config
        self.device = torch.device("cuda", local_rank)
        self.model = model.to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=config["lr"])
        if dist.is_initialized():
            self.model = DistributedDataParallel(self.model, device_ids=[local_rank])
        self.loader = loader

    def load_pretrained(self, path):
        checkpoint = torch.load(path, map_location=self.device)
        self.model.load_state_dict(checkpoint["state_dict"])

    def save(self, epoch):
        if dist.get_rank() == 0:
            torch.save(
                {"epoch": epoch, "state_dict": getattr(self.model, "module", self.model).state_dict(), "config": self.config},
                os.path.join(self.config["checkpoint_dir"], "checkpoint.pt"),
            )

    def train(self):
        for epoch in range(self.config["epochs"]):
            self.loader.sampler.set_epoch(epoch)
            for batch in self.loader:
                loss = (self.model(batch.to(self.device)) - batch.y).abs().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.save(epoch)
