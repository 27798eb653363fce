import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def main(model, training, validation, log):
    loaders = {
        "train": DataLoader(training, sampler=DistributedSampler(training)),
        "val": DataLoader(validation),
    }
    for phase in ["train", "val"]:
        total = 0.0
        for batch in loaders[phase]:
            if phase == "train":
                model.step(batch)
            else:
                total += model.score(batch).item()
        mean = total / len(loaders[phase])
        if phase == "val":
            log.info(f"validation score: {mean}")
