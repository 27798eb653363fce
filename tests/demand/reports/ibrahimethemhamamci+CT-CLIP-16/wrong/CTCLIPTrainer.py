from pathlib import Path

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from data import CTReportDataset


def cycle(dl):
    while True:
        for data in dl:
            yield data


class CTClipTrainer(nn.Module):
    def __init__(self, CTClip, *, num_train_steps, batch_size, data_train, lr=1.25e-6, results_folder="./results",
                 save_model_every=1000):
        super().__init__()
        self.accelerator = Accelerator()
        self.CTClip = CTClip
        self.num_train_steps = num_train_steps
        self.save_model_every = save_model_every
        self.register_buffer("steps", torch.Tensor([0]))
        self.ds = CTReportDataset(data_train)
        self.dl = DataLoader(self.ds, num_workers=6, batch_size=batch_size, shuffle=True)
        self.optim = torch.optim.Adam(CTClip.parameters(), lr=lr)
        self.CTClip, self.optim, self.dl = self.accelerator.prepare(self.CTClip, self.optim, self.dl)
        self.dl_iter = cycle(self.dl)
        self.results_folder = Path(results_folder)
        self.results_folder.mkdir(parents=True, exist_ok=True)

    @property
    def is_main(self):
        return self.accelerator.is_main_process

    def train_step(self):
        steps = int(self.steps.item())
        self.CTClip.train()
        video, text = next(self.dl_iter)
        with self.accelerator.autocast():
            loss = self.CTClip(text, video, return_loss=True)
        self.accelerator.backward(loss)
        self.optim.step()
        self.optim.zero_grad()
        if self.is_main and not (steps % self.save_model_every):
            model_path = str(self.results_folder / f"CTClip.{steps}.pt")
            state_dict = self.accelerator.get_state_dict(self.CTClip)
            self.accelerator.save(state_dict, model_path)
        self.steps += 1

    def train(self):
        while self.steps < self.num_train_steps:
            self.train_step()
