"""What is gathered in an evaluation."""

import torch
from accelerate import Accelerator
from torch.nn import functional
from torch.utils.data import DataLoader
from transformers import Trainer

# Bugs


def metric_of_batches(model, data, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    model.eval()
    for batch in loader:
        predictions = model(batch["inputs"]).argmax(dim=-1)
        predictions, labels = accelerator.gather((predictions, batch["labels"]))  # expect: DL602
        metric.add_batch(predictions=predictions, references=labels)
    return metric.compute()


class Trainer:
    def __init__(self, model, eval_loader):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.eval_loader = self.accelerator.prepare(eval_loader)

    def evaluate(self):
        losses = []
        for step, batch in enumerate(self.eval_loader):
            with torch.no_grad():
                loss = self.model(batch).loss
            losses.append(self.accelerator.gather(loss.repeat(8)))  # expect: DL602
        return torch.cat(losses).mean()


def numbers_of_batches(model, data, accuracy, criterion):
    # DCNv4 4b848f7 classification/main_accelerate.py:281: one number of each rank has no samples to cut
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    right, lost = [], []
    for images, labels in loader:
        output = model(images)
        first, fifth = accuracy(output, labels, topk=(1, 5))
        right.append(accelerator.gather(first).mean())  # expect: DL602
        lost.append(accelerator.gather(criterion(output, labels).mean().unsqueeze(0)))  # expect: DL602
        lost.append(accelerator.gather(functional.cross_entropy(output, labels)))  # expect: DL602
    return right, lost


def numbers_of_samples(model, data, criterion):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    lost = []
    for images, labels in loader:
        output = model(images)
        each = functional.cross_entropy(output, labels, reduction="none")
        lost.append(accelerator.gather(each))  # expect: DL602
        lost.append(accelerator.gather(criterion(output, labels).mean(dim=-1)))  # expect: DL602
        right = (output.argmax(-1) == labels).float()
        lost.append(accelerator.gather(right.view(-1)))  # expect: DL602
    return lost


# Correct


def for_metrics(model, data, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        predictions = model(batch["inputs"]).argmax(dim=-1)
        predictions, labels = accelerator.gather_for_metrics((predictions, batch["labels"]))
        metric.add_batch(predictions=predictions, references=labels)
    return metric.compute()


def cut_to_the_length(model, data, batch_size):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    losses = []
    for batch in loader:
        losses.append(accelerator.gather(model(batch).loss.repeat(batch_size)))
    return torch.cat(losses)[: len(data)].mean()


def in_training(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8))
    for batch in loader:
        loss = model(batch).loss
        average = accelerator.gather(loss.repeat(8)).mean()
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"loss": average.item()})


class Counting:
    # LLaVA-NeXT llava/train/llava_trainer.py:1019: tokens that were trained on; the base class has `training_step`.
    def __init__(self, model, data):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, DataLoader(data, batch_size=8))
        self.seen = 0

    def run(self):
        for batch in self.loader:
            count = torch.tensor(batch["ids"].numel())
            self.seen += self.accelerator.gather(count).sum().item()
            self.training_step(self.model, batch)


class Training:
    def __init__(self, model, optimizer, data):
        self.accelerator = Accelerator()
        self.model, self.optimizer, self.loader = self.accelerator.prepare(
            model, optimizer, DataLoader(data, batch_size=8)
        )

    def step(self, batch):
        loss = self.model(batch).loss
        self.accelerator.backward(loss)
        self.optimizer.step()
        return loss

    def train(self):
        for batch in self.loader:
            loss = self.step(batch)
            average = self.accelerator.gather(loss.repeat(8)).mean()
            self.accelerator.log({"loss": average.item()})


def of_no_loader(model, prompts, tokenizer):
    accelerator = Accelerator()
    with accelerator.split_between_processes(prompts) as mine:
        for prompt in mine:
            images = model(prompt)
            accelerator.gather(images)


class Counting(Trainer):
    def train_on(self, model, data):
        accelerator = Accelerator()
        model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
        for batch in loader:
            # LLaVA-NeXT df17966 llava/train/llava_trainer.py:1019: what all have trained on
            self.seen += accelerator.gather(batch["ids"]).numel()
            self.training_step(model, batch)
