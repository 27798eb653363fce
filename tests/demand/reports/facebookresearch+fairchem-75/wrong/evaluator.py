import torch
import torch.distributed as dist


class Evaluator:
    def __init__(self, device):
        self.device = device

    def update(self, key, stat, n, metrics):
        entry = metrics.setdefault(key, {"total": 0.0, "numel": 0.0})
        entry["total"] += stat * n
        entry["numel"] += n
        for name in ("total", "numel"):
            value = torch.tensor(entry[name], device=self.device)
            dist.all_reduce(value)
            entry[name] = value.item()
        entry["metric"] = entry["total"] / entry["numel"]
        return metrics
