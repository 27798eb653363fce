from pathlib import Path

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from ema_pytorch import EMA
from torch.optim import Adam
from torch.utils.data import DataLoader, random_split

from magvit2_pytorch.data import VideoDataset
from magvit2_pytorch.tokenizer import VideoTokenizer


def cycle(dl):
    while True:
        yield from dl


class VideoTokenizerTrainer:
    def __init__(self, model: VideoTokenizer, *, batch_size: int, num_train_steps: int, folder: str,
                 learning_rate=1e-5, grad_accum_every=1, checkpoints_folder="./checkpoints"):
        kwargs = DistributedDataParallelKwargs(find_unused_parameters=True)
        self.accelerator = Accelerator(kwargs_handlers=[kwargs])
        self.model = model
        self.has_multiscale_discrs = model.has_multiscale_discrs
        self.dataset = VideoDataset(folder, image_size=128)
        self.dataloader = DataLoader(self.dataset, batch_size=batch_size, shuffle=True, drop_last=True)
        self.optimizer = Adam(model.parameters(), lr=learning_rate)
        self.discr_optimizer = Adam(model.discr_parameters(), lr=learning_rate)
        self.checkpoints_folder = Path(checkpoints_folder)
        self.grad_accum_every = grad_accum_every
        self.num_train_steps = num_train_steps
        self.model, self.optimizer, self.discr_optimizer, self.dataloader = self.accelerator.prepare(
            self.model, self.optimizer, self.discr_optimizer, self.dataloader
        )
        if self.is_main:
            self.ema_model = EMA(model)

    @property
    def is_main(self):
        return self.accelerator.is_main_process

    def train_step(self, dl_iter):
        self.model.train()
        for _ in range(self.grad_accum_every):
            data = next(dl_iter)
            with self.accelerator.autocast():
                loss, breakdown = self.model(data, return_loss=True)
            self.accelerator.backward(loss / self.grad_accum_every)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.has_multiscale_discrs:
            discr_loss, _ = self.model(next(dl_iter), return_discr_loss=True)
            self.accelerator.backward(discr_loss)
            self.discr_optimizer.step()
            self.discr_optimizer.zero_grad()

    def train(self):
        dl_iter = cycle(self.dataloader)
        for _ in range(self.num_train_steps):
            self.train_step(dl_iter)


if __name__ == "__main__":
    tokenizer = VideoTokenizer(image_size=128, init_dim=64)
    VideoTokenizerTrainer(tokenizer, batch_size=4, num_train_steps=100_000, folder="videos").train()
