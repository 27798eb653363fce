"""Models beside a wrapped one that are part of it, that nobody trains, or that all ranks train alike."""

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


def frozen_teacher(data):
    student = DistributedDataParallel(Student())
    teacher = Teacher()
    optimizer = torch.optim.AdamW(student.parameters())
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        found, wanted = student(batch), teacher(batch)
        loss = (found[0] - wanted[0]).square().mean()
        loss.backward()
        optimizer.step()


def loss_without_parameters(data):
    model, criterion = DistributedDataParallel(nn.Linear(8, 8)), Margin()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch, labels in DataLoader(data, sampler=DistributedSampler(data)):
        criterion(model(batch), labels).backward()
        optimizer.step()


def under_another_name(data):
    bare = Student()
    model = DistributedDataParallel(bare)
    optimizer = torch.optim.AdamW(bare.parameters())
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch)[0].backward()
        optimizer.step()


class Both(nn.Module):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher

    def forward(self, batch):
        return self.student(batch)[0] - self.teacher(batch)[0]


def part_of_the_wrapped_one(data):
    student, teacher = Student(), Teacher()
    model = DistributedDataParallel(Both(student, teacher))
    optimizer = torch.optim.AdamW(student.parameters())
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss = model(batch) + student(batch)[1]
        loss.backward()
        optimizer.step()


def wrapped_where_several_train(data, distributed):
    student, teacher = Student(), DistributedDataParallel(Teacher())
    if distributed:
        student = DistributedDataParallel(student)
    optimizer = torch.optim.AdamW(student.parameters())
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss = student(batch)[0] - teacher(batch)[0]
        loss.backward()
        optimizer.step()


def each_rank_trains_on_everything(data):
    # equal batches, equal gradients
    accelerator = Accelerator()
    teacher = accelerator.prepare(Teacher())
    student = Student()
    optimizer = torch.optim.AdamW(student.parameters())
    for batch in DataLoader(data):
        accelerator.backward(student(batch)[0] - teacher(batch)[0])
        optimizer.step()
