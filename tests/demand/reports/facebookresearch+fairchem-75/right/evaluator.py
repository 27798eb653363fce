import torch
import torch.distributed as dist


class Evaluator:
    def __init__(self, device):
        self.device = device

    def update(self, key, stat, n, metrics):
        entry = metrics.setdefault(key, {"total": 0.0, "numel": 0.0})
        entry["total"] += stat * n
        entry["numel"] += n
        return metrics

    def reduce(self, metrics):
        for entry in metrics.values():
            both = torch.tensor([entry["total"], entry["numel"]], device=self.device)
            dist.all_reduce(both)
            entry["metric"] = (both[0] / both[1]).item()
        return metrics
