from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Pipeline(torch.nn.Module):
    def __init__(self, model, local_rank, world_size):
        super().__init__()
        self._model = model
        if world_size > 1:
            self._model = DDP(self._model, device_ids=[local_rank], find_unused_parameters=True)
            dist.barrier(device_ids=[local_rank])

    def get_train_loss(self, batch):
        return self._model(batch)


class Trainer:
    def __init__(self, model, datamanager, folder, local_rank, world_size):
        self.local_rank, self.world_size = local_rank, world_size
        self.datamanager = datamanager
        self.checkpoint_dir = Path(folder)
        self.pipeline = Pipeline(model.to(local_rank), local_rank, world_size)
        self.optimizer = torch.optim.Adam(self.pipeline.parameters(), lr=1e-2)

    def train(self, steps):
        for step in range(steps):
            loss = self.pipeline.get_train_loss(self.datamanager.next_train(step))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 2000 == 0:
                self.save_checkpoint(step)

    def save_checkpoint(self, step):
        if dist.get_rank() == 0:
            torch.save({"step": step, "pipeline": {k.replace("_model.module.", "_model."): v for k, v in self.pipeline.state_dict().items()}}, self.checkpoint_dir / f"step-{step:09d}.ckpt")

    def load_checkpoint(self, path):
        self.pipeline.load_state_dict(torch.load(path, map_location="cpu")["pipeline"])
