import datetime
import os

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class BaseTrainer:
    def __init__(self, model, loader, run_dir, local_rank, timestamp_id=None):
        self.device = torch.device("cuda", local_rank)
        self.model = DistributedDataParallel(model.to(self.device), device_ids=[local_rank])
        self.loader = loader
        timestamp = datetime.datetime.now().strftime("%Y-%m-%d-%H-%M-%S")
        self.results_dir = os.path.join(run_dir, "results", timestamp)

    @torch.no_grad()
    def predict(self):
        self.model.eval()
        ids, energies = [], []
        for batch in self.loader:
            ids.extend(batch.sid)
            energies.extend(self.model(batch.to(self.device)).cpu().tolist())
        os.makedirs(self.results_dir, exist_ok=True)
        np.savez(os.path.join(self.results_dir, f"predictions_{dist.get_rank()}.npz"), ids=ids, energy=energies)
        dist.barrier()
        if dist.get_rank() == 0:
            parts = [np.load(os.path.join(self.results_dir, f"predictions_{i}.npz")) for i in range(dist.get_world_size())]
            np.savez(os.path.join(self.results_dir, "predictions.npz"), energy=np.concatenate([p["energy"] for p in parts]))
