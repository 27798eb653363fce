import argparse
import os

import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

from pwg import AudioMelDataset, Collater, ParallelWaveGANGenerator, stft_loss


class Trainer:
    def __init__(self, steps, epochs, data_loader, sampler, model, optimizer, config, device):
        self.steps, self.epochs = steps, epochs
        self.data_loader, self.sampler = data_loader, sampler
        self.model, self.optimizer = model, optimizer
        self.config, self.device = config, device
        self.finish_train = False

    def run(self):
        self.tqdm = tqdm(initial=self.steps, total=self.config["train_max_steps"], desc="[train]")
        while True:
            self._train_epoch()
            if self.finish_train:
                break
        self.tqdm.close()

    def _train_step(self, batch):
        x, y = batch
        loss = stft_loss(self.model(x.to(self.device)), y.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        self.tqdm.update(1)
        self.finish_train = self.steps >= self.config["train_max_steps"]

    def _train_epoch(self):
        for batch in self.data_loader["train"]:
            self._train_step(batch)
            if self.finish_train:
                return
        self.epochs += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-dumpdir", required=True)
    args = parser.parse_args()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    args.distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    if args.distributed:
        torch.distributed.init_process_group(backend="nccl", init_method="env://")
    dataset = {"train": AudioMelDataset(args.train_dumpdir)}
    sampler = {"train": None}
    if args.distributed:
        from torch.utils.data.distributed import DistributedSampler

        sampler["train"] = DistributedSampler(dataset=dataset["train"], shuffle=True)
    data_loader = {
        "train": DataLoader(dataset["train"], shuffle=not args.distributed, collate_fn=Collater(), batch_size=8,
                            sampler=sampler["train"]),
    }
    model = ParallelWaveGANGenerator().to(device)
    if args.distributed:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters())
    Trainer(0, 0, data_loader, sampler, model, optimizer, {"train_max_steps": 400_000}, device).run()


if __name__ == "__main__":
    main()
