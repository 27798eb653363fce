import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def cycle(loader):
    while True:
        yield from loader


accelerator = Accelerator()


def train(model, data, held_out):
    model, loader, held_out = accelerator.prepare(model, DataLoader(data), DataLoader(held_out))
    loader, held_out = cycle(loader), cycle(held_out)
    for step in range(1000):
        accelerator.backward(model(next(loader)))
        if step % 100 == 0:
            # PaLM-rlhf-pytorch bd0d0f3 train.py:105, a note
            valid_loss = model(next(held_out))
            accelerator.print(f"validation loss: {valid_loss.item()}")  # expect: DL601


train(torch.nn.Linear(2, 2), [1], [2])
