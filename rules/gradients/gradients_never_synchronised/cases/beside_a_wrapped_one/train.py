"""Models that are trained beside one that is wrapped."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Student(nn.Module):
    def forward(self, batch):
        return [batch.mean(), batch.sum()]


class Teacher(nn.Module):
    def forward(self, batch):
        return [batch.sum(), batch.mean()]


class Margin(nn.Module):
    """A loss with weights of its own."""

    def forward(self, found, labels):
        return (found - labels).square().mean()


def distil(data, path, local_rank):
    # TinyBERT general_distill.py:355
    student = Student()
    teacher = Teacher()
    if local_rank != -1:
        teacher = DistributedDataParallel(teacher)
    elif torch.cuda.device_count() > 1:
        student = nn.DataParallel(student)
    named = list(student.named_parameters())
    groups = [{"params": [p for name, p in named if "bias" not in name]}]
    optimizer = torch.optim.AdamW(groups)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss = 0.0
        layers = student(batch)  # expect: DL621
        for one, other in zip(layers, teacher(batch)):
            loss += (one - other).square().mean()
        loss.backward()
        optimizer.step()
    torch.save(student.state_dict(), path)


def margin_beside(data):
    accelerator = Accelerator()
    model, criterion = nn.Linear(8, 8), Margin()
    optimizer = torch.optim.SGD([*model.parameters(), *criterion.parameters()], lr=0.1)
    train_loader = DataLoader(data)
    model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)
    for batch, labels in train_loader:
        loss = criterion(model(batch), labels)  # expect: DL621
        accelerator.backward(loss)
        optimizer.step()


class Run:
    def __init__(self, data):
        self.accelerator = Accelerator()
        self.encoder = Teacher()
        self.decoder = Student()
        self.optimizer = torch.optim.AdamW(
            [*self.encoder.parameters(), *self.decoder.parameters()]
        )
        self.encoder, self.loader = self.accelerator.prepare(self.encoder, DataLoader(data))

    def train(self):
        for batch in self.loader:
            loss = self.decoder(self.encoder(batch))  # expect: DL621
            self.accelerator.backward(loss)
            self.optimizer.step()
