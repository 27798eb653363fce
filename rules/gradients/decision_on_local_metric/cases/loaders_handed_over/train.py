"""Takes its loaders from another file, and keeps the best by what they come to."""

import torch
import torch.distributed as dist
from accelerate import Accelerator

from data import Kept, by_phase, loaders_of, split, with_settings, with_settings_of_training


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1

    @property
    def mean(self):
        return self.total / self.count


def evaluate(model, loader):
    model.eval()
    hits = seen = 0
    with torch.no_grad():
        for images, labels in loader:
            hits += (model(images).argmax(1) == labels).sum().item()
            seen += len(labels)
    return hits / seen


def of_settings(model, training, validation):
    loader, others = with_settings(training, validation, 8)
    best = 0.0
    for epoch in range(10):
        loader.sampler.set_epoch(epoch)
        accuracy = evaluate(model, others)
        if accuracy > best:  # expect: DL601
            best = accuracy
            torch.save(model.state_dict(), f"{dist.get_rank()}.pt")


def of_settings_of_training(model, training, validation):
    loader, others = with_settings_of_training(training, validation, 8)
    best = 0.0
    for epoch in range(10):
        loader.sampler.set_epoch(epoch)
        accuracy = evaluate(model, others)
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), f"{dist.get_rank()}.pt")


def of_an_object(model, sets):
    loaders = loaders_of(sets)
    best = 0.0
    for epoch in range(10):
        loaders.for_training().sampler.set_epoch(epoch)
        accuracy = evaluate(model, loaders.for_validation())
        if accuracy > best:  # expect: DL601
            best = accuracy


def of_an_object_whole(model, sets):
    loaders = loaders_of(sets)
    best = 0.0
    for _ in range(10):
        accuracy = evaluate(model, loaders.for_all())
        if accuracy > best:
            best = accuracy


def of_records(model, training, validation):
    data = {}
    data["train"] = split(training)
    data["val"] = split(validation)
    best = 0.0
    for epoch in range(10):
        data["train"].begin(epoch)
        accuracy = evaluate(model, data["val"].loader)
        if accuracy > best:  # expect: DL601
            best = accuracy


def of_records_whole(model, training, validation):
    data = {"train": split(training), "val": split(validation, divided=False)}
    best = 0.0
    for epoch in range(10):
        data["train"].begin(epoch)
        accuracy = evaluate(model, data["val"].loader)
        if accuracy > best:
            best = accuracy


def kept(model, training, validation):
    sets = Kept(training, validation)
    sets.set_up()
    best = best_of_all = 0.0
    for _ in range(10):
        accuracy, of_all = evaluate(model, sets.loader_val), evaluate(model, sets.loader_all)
        if accuracy > best:  # expect: DL601
            best = accuracy
        if of_all > best_of_all:
            best_of_all = of_all


class Prepared:
    def __init__(self, model, sets):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.loaders = by_phase(sets)
        for phase in self.loaders:
            self.loaders[phase] = self.accelerator.prepare(self.loaders[phase])

    def run(self):
        best = 0.0
        for _ in range(10):
            accuracy = evaluate(self.model, self.loaders["val"])
            if accuracy > best:  # expect: DL601
                best = accuracy


class Given:
    def __init__(self, model, loaders):
        self.model, self.loaders, self.best = model, loaders, 0.0

    def evaluate(self):
        meters = [Meter() for _ in range(2)]
        for images, labels in self.loaders["val"]:
            meters[0].update(self.model(images).sub(labels).abs().mean().item())
            meters[1].update(1.0)
        self.metrics = {"error": meters[0].mean}

    def run(self):
        self.evaluate()
        if self.metrics.get("error") < self.best:  # expect: DL601
            self.best = self.metrics["error"]


class GivenReduced(Given):
    def run(self):
        self.evaluate()
        error = torch.tensor(self.metrics["error"])
        dist.all_reduce(error, op=dist.ReduceOp.AVG)
        if error < self.best:
            self.best = error


def hand_over(model, training, validation):
    first, second = with_settings(training, validation, 8)
    Given(model, {"train": first, "val": second}).run()
    GivenReduced(model, {"train": first, "val": second}).run()
