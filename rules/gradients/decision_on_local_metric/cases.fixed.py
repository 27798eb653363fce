"""Decisions and reports that rest on a rank's share of the data."""

import collections
import glob
import itertools
import json
import math
import os
import sys

import evaluate
import libtrain
import lightning.pytorch as pl
import numpy as np
import torch
import torch.distributed as dist
import torchmetrics
import torchvision
import wandb
from pieces import split_evenly
from tqdm import tqdm
from accelerate import Accelerator
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class AverageMeter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, number=1):
        self.total += value * number
        self.count += number

    @property
    def average(self):
        return self.total / self.count


class ReducedMeter(AverageMeter):
    def synchronize_between_processes(self):
        both = torch.tensor([self.total, self.count])
        dist.all_reduce(both)
        self.total, self.count = both.tolist()


# Bugs


def best_checkpoint(model, data, path, epochs):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = float("inf")
    for _ in range(epochs):
        total = 0.0
        for batch in loader:
            total += model(batch).item()
        loss = total / len(loader)
        if loss < best:  # expect: DL601
            best = loss
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def best_where_ranks_are_numbered(args, model, data, path, epochs):
    # Oscar 266075f oscar/run_gqa.py:511, the other way round.
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = float("inf")
    for _ in range(epochs):
        loss = sum(model(batch).item() for batch in loader) / len(loader)
        if args.local_rank != -1 and args.evaluate_during_training:
            if loss < best:  # expect: DL601
                best = loss
                torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def own_part_again(result, folder):
    with open(f"{folder}/part_{dist.get_rank()}.json", "w") as f:
        json.dump(result, f)
    dist.barrier()
    with open(f"{folder}/part_{dist.get_rank()}.json") as f:
        json.load(f)
    for number in range(3):
        print(number)
    return result


def best_of_own_part(model, data, folder, epochs):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = 0.0
    for _ in range(epochs):
        result = [model(batch).item() for batch in loader]
        result = own_part_again(result, folder)
        if sum(result) > best:  # expect: DL601
            best = sum(result)
            torch.save(model.state_dict(), f"{folder}/{dist.get_rank()}.pt")


def lowest_so_far(model, data, path, patience):
    loader = Accelerator().prepare(DataLoader(data))
    lowest, waited = float("inf"), 0
    for batch in loader:
        loss = model(batch).item()
        if loss < lowest:  # expect: DL601
            lowest = loss
            waited = 0
        else:
            waited += 1


def lowest_and_kept(model, data, keep):
    loader = Accelerator().prepare(DataLoader(data))
    lowest = float("inf")
    for batch in loader:
        loss = model(batch).item()
        if loss < lowest:  # expect: DL601
            lowest = loss
            keep(model)


def validate(model, loader, criterion):
    losses = AverageMeter()
    for inputs, targets in loader:
        losses.update(criterion(model(inputs), targets).item(), inputs.size(0))
    return losses.average


def loaders(data, args):
    sampler = DistributedSampler(data) if args.distributed else None
    return DataLoader(data, sampler=sampler), sampler


def plateau(model, data, args, criterion, scheduler):
    loader, sampler = loaders(data, args)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = validate(model, loader, criterion)
        scheduler.step(loss)  # expect: DL601


def early_stop(model, data, args, criterion, early_stopping):
    loader, _ = loaders(data, args)
    for _ in range(args.epochs):
        if early_stopping(validate(model, loader, criterion)):  # expect: DL601
            break


def stop_on_divergence(model, optimizer, data, limit):
    accelerator = Accelerator()
    loader = DataLoader(data)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss, divergence = model(batch)
        if divergence.item() > limit:  # expect: DL601
            break
        accelerator.backward(loss)
        optimizer.step()


def is_the_best(model, data, args, criterion, save):
    loader, _ = loaders(data, args)
    best_accuracy = 0.0
    for _ in range(args.epochs):
        accuracy = validate(model, loader, criterion)
        is_best = accuracy > best_accuracy  # expect: DL601
        best_accuracy = max(accuracy, best_accuracy)
        save(model, is_best)


def reported(model, data, args, criterion):
    loader, _ = loaders(data, args)
    loss = validate(model, loader, criterion)
    if dist.get_rank() == 0:
        wandb.log({"val/loss": loss})  # expect: DL601


def written_by_all(model, data, args, criterion, path):
    loader, _ = loaders(data, args)
    loss = validate(model, loader, criterion)
    dist.barrier()
    with open(path, "w") as file:
        file.write(f"val loss {loss}")  # expect: DL601


def rank_strided(model, questions, answers):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    right = 0
    for question, answer in zip(questions[rank::world_size], answers[rank::world_size]):
        right += int(model(question) == answer)
    print(f"eval accuracy: {right / len(questions):.2f}")  # expect: DL601


class Trainer:
    def __init__(self, model, optimizer, train_loader, val_loader):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.val_loader = self.accelerator.prepare(val_loader)
        self.best = 0.0

    def evaluate(self):
        scores = []
        for batch in self.val_loader:
            scores.append(self.model(batch).mean())
        return torch.stack(scores).mean().item()

    def train(self, epochs):
        for _ in range(epochs):
            score = self.evaluate()
            if score > self.best:  # expect: DL601
                self.best = score


class TokenLoader:
    """llm.c train_gpt2.py:329: each rank begins at its own tokens, and skips those of all."""

    def __init__(self, tokens, batch, process_rank, num_processes):
        self.tokens = tokens
        self.batch = batch
        self.process_rank = process_rank
        self.num_processes = num_processes
        self.reset()

    def reset(self):
        self.position = self.process_rank * self.batch

    def next_batch(self):
        found = self.tokens[self.position : self.position + self.batch]
        self.position += self.batch * self.num_processes
        return found


def own_tokens(model, tokens, steps):
    own_rank = int(os.environ["RANK"])
    loader = TokenLoader(tokens, 4, own_rank, dist.get_world_size())
    val_loss = 0.0
    for _ in range(steps):
        val_loss += model(loader.next_batch()).item()
    print(f"val loss {val_loss / steps}")  # expect: DL601


def share_over_whole(model, data):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(data))
    for batch in loader:
        count = accelerator.gather(batch["mask"].sum()).sum()
        total = model(batch).sum()
        accelerator.log({"loss": total / count})  # expect: DL601


def by_a_metric_of_one_process(model, data):
    accelerator = Accelerator()
    metric = evaluate.load("accuracy")
    model, loader = accelerator.prepare(model, DataLoader(data))
    for inputs, labels in loader:
        metric.add_batch(predictions=model(inputs).argmax(-1), references=labels)
    accelerator.print("eval accuracy", metric.compute()["accuracy"])  # expect: DL601


def emptied_before_more_of_its_own(model, data, held_out):
    accelerator = Accelerator()
    metric = evaluate.load("accuracy")
    model, loader, others = accelerator.prepare(model, DataLoader(data), DataLoader(held_out))
    for inputs, labels in loader:
        metric.add_batch(predictions=model(inputs).argmax(-1), references=labels)
    if len(metric) > 0:
        accelerator.print("accuracy", metric.compute()["accuracy"])  # expect: DL601
    for inputs, labels in others:
        metric.add_batch(predictions=model(inputs).argmax(-1), references=labels)
    accelerator.print("eval accuracy", metric.compute()["accuracy"])  # expect: DL601


def logged_by_name(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data))
    batches = iter(loader)
    for step in range(100):
        batch = next(batches)
        total = model(batch).sum()
        tokens = accelerator.gather(batch["tokens"]).sum()
        logs = {"loss": (total / tokens).item(), "step": step}
        accelerator.log(logs, step=step)  # expect: DL601


class Lightning(pl.LightningModule):
    def validation_step(self, batch, index):
        loss = self.model(batch).mean()
        self.log("val_loss", loss, sync_dist=True)  # expect: DL601
        self.log("val_accuracy", self.accuracy)
        self.log("val_noise", self.model.noise(batch))

    def callbacks(self):
        return [ModelCheckpoint(monitor="val_loss"), EarlyStopping(monitor="val_accuracy")]


class LogsAnEntryToo(pl.LightningModule):
    # DiffViewTrans af2f5cc ldm/models/autoencoder.py:387: Lightning takes one set of arguments for a key
    def validation_step(self, batch, index):
        numbers = self.parts(batch)
        self.log("val_loss", numbers["val_loss"])  # expect: DL601
        self.log_dict(numbers)

    def callbacks(self):
        return [ModelCheckpoint(monitor="val_loss")]


class LogsADict(pl.LightningModule):
    def validation_step(self, batch, index):
        numbers = {name: self.all_gather(each) for name, each in self.parts(batch).items()}
        numbers["val_loss"] = self.model(batch).mean()
        self.log_dict(numbers, rank_zero_only=True)  # expect: DL601
        return numbers

    def validation_epoch_end(self, outputs):
        self.log_dict({"val_loss": self.mean_of(outputs), "seen": len(outputs)})  # expect: DL601


def in_training(model, optimizer, data, args):
    loader, _ = loaders(data, args)
    losses = AverageMeter()
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        losses.update(loss.item())
        print(f"{losses.average:.3f}")  # expect: DL601


def of_what_is_drawn(model, optimizer, draw, steps):
    model = DistributedDataParallel(model)
    for step in range(steps):
        loss = model(draw()).mean()
        loss.backward()
        optimizer.step()
        wandb.log({"loss": loss.item()}, step=step)  # expect: DL601
        wandb.log({"step": step})


def of_a_meter(model, optimizer, draw, steps, writer):
    model = DistributedDataParallel(model)
    losses = AverageMeter()
    for step in range(steps):
        loss = model(draw()).mean()
        loss.backward()
        optimizer.step()
        losses.update(loss.item())
        print("loss", losses.average)
        if step % 10 == 0:
            writer.add_scalar("loss", losses.average, step)  # expect: DL601


def of_the_terms(model, optimizer, draw, logger):
    model = DistributedDataParallel(model)
    recent = []
    while True:
        shape_loss, size_loss = model(draw())
        total = shape_loss + 0.1 * size_loss
        total.backward()
        optimizer.step()
        recent.append(size_loss.item())
        logger.info(f"loss {sum(recent) / len(recent):.3f}")  # expect: DL601


def one_step(model, optimizer, batch):
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def of_a_step(model, optimizer, draw, steps):
    model = DistributedDataParallel(model)
    for _ in range(steps):
        loss = one_step(model, optimizer, draw())
        if dist.get_rank() == 0:
            wandb.log({"loss": loss})  # expect: DL601


def parts_of_a_batch(model, data, validation):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data))
    for batch in loader:
        tokens, mask = [part.long() for part in batch["parts"]]
        val_loss = model(tokens, mask).loss
        accelerator.log({"val/loss": val_loss})  # expect: DL601


class OfRankZero(pl.LightningModule):
    def validation_step(self, batch, index):
        # trlx 3340c2f trlx/models/modeling_nemo_ilql.py:597
        loss = self(batch).mean()
        self.log("val/loss", loss, rank_zero_only=True, sync_dist=True)  # expect: DL601
        return loss

    def training_step(self, batch, index):
        loss = self(batch).mean()
        self.log("lr", self.rate(), rank_zero_only=True, sync_dist=True)
        self.log("loss", loss, sync_dist=True)
        self.log("seen", index, rank_zero_only=True)
        self.log("scaled", loss, rank_zero_only=True, sync_dist=False)
        return loss

    def on_validation_epoch_end(self):
        total = self.all_gather(self.total).sum()
        self.log("val/total", total, rank_zero_only=True, sync_dist=True)


class Diffusion(pl.LightningModule):
    # latent-diffusion ldm/models/diffusion/ddpm.py:363
    def __init__(self, monitor):
        self.monitor = monitor

    def forward(self, batch):
        return self.losses(batch, torch.randn_like(batch))

    def losses(self, batch, noise):
        loss = self.model(batch + noise)
        numbers = {"val/simple": loss.mean()}
        numbers.update({"val/loss": loss.mean() * self.weight})
        return loss, numbers

    def validation_step(self, batch, index):
        _, numbers = self(batch)
        self.log_dict(numbers, sync_dist=True)  # expect: DL601


class WatchesByDefault(pl.LightningModule):
    def __init__(self, monitor="val/loss"):
        self.monitor = monitor

    def losses(self, batch):
        loss = self.model(batch)
        return loss, {"val/loss": loss.mean()}

    def validation_step(self, batch, index):
        _, numbers = self.losses(batch)
        self.log_dict(numbers, sync_dist=True)  # expect: DL601


def checkpoint_of(module=WatchesByDefault()):
    settings = {"save_last": True}
    if hasattr(module, "monitor"):
        settings["monitor"] = module.monitor
    return ModelCheckpoint(**settings)


class Autoencoder(pl.LightningModule):
    # taming-transformers taming/models/vqgan.py:117: the fix is shown only, the loss may count on the CPU.
    def __init__(self, loss, monitor):
        self.monitor = monitor
        self.loss = make(loss)

    def on_the_cpu(self, batch):
        return {"val/factor": torch.tensor(0.5), "val/loss": self.model(batch).mean()}

    def validation_step(self, batch, index):
        _, numbers = self.loss(batch, self.model(batch))
        self.log_dict(numbers)  # expect: DL601
        self.log_dict(self.on_the_cpu(batch))  # expect: DL601


def validate_wide(model, loader, criterion):
    return validate(model, loader, criterion) / 2


def chosen_of_two(model, data, args, criterion):
    loader, _ = loaders(data, args)
    evaluate_with = validate_wide if args.wide else validate
    val_loss = evaluate_with(model, loader, criterion)
    print(f"val_loss {val_loss}")  # expect: DL601


def chosen_from_table(model, data, args, criterion):
    loader, _ = loaders(data, args)
    evaluate_with = {"plain": validate, "wide": validate_wide}[args.kind]
    print(f"val_loss {evaluate_with(model, loader, criterion)}")  # expect: DL601


def chosen_by_its_name(model, data, args, criterion):
    loader, _ = loaders(data, args)
    evaluate_with = eval(args.get("val_fn", "validate"))
    print(f"val_loss {evaluate_with(model, loader, criterion)}")  # expect: DL601


def another_entry_is_reduced(model, data, args, criterion):
    loader, _ = loaders(data, args)
    found = {"val_loss": validate(model, loader, criterion)}
    found["val_error"] = reduce_mean(torch.tensor(found["val_loss"]))
    print(f"val_loss {found['val_loss']}")  # expect: DL601


def loader_for(data, world_size=1, rank=0):
    return DataLoader(data, sampler=DistributedSampler(data, world_size, rank))


def one_of_many(model, data, criterion):
    loader = loader_for(data, dist.get_world_size(), dist.get_rank())
    print(f"val_loss {validate(model, loader, criterion)}")  # expect: DL601


def a_loader_of_many(model, data, criterion, world_size=1, rank=0):
    sampler = DistributedSampler(data, num_replicas=world_size, rank=rank)
    val_loss = validate(model, DataLoader(data, sampler=sampler), criterion)
    print(f"val_loss {val_loss}")  # expect: DL601


def halved_key_by_key(model, data):
    total, count = totals(model, data)
    logs = {"total": total, "count": count}
    for key in logs:
        logs[key] = logs[key] / 2
    print(f"val_loss {logs['total'] / logs['count']}")  # expect: DL601


def another_is_reduced(model, data):
    total, count = totals(model, data)
    [dist.all_reduce(each) for each in (count,)]
    print(f"val_loss {total}")  # expect: DL601


def rate_of_rank_zero_alone(model, loader, optimizer, scheduler, evaluate_on, epochs):
    for _ in range(epochs):
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
        if dist.get_rank() == 0:
            score = evaluate_on(model.module)
            print(score)
            scheduler.step(score)  # expect: DL601


def warm_up_of_rank_zero_alone(model, loader, optimizer, lr_scheduler, accelerator=None):
    accelerator = Accelerator()
    for step, batch in enumerate(loader):
        accelerator.backward(model(batch).mean())
        optimizer.step()
        if accelerator.is_main_process and step % 10 == 0:
            print(step)
            lr_scheduler.step()  # expect: DL601


def rate_where_the_first_of_a_machine_validates(model, loader, optimizer, scheduler, local_rank, plateau):
    # PepHAR 4a809d5 train_ddp.py:213
    def validate():
        with torch.no_grad():
            score = model.module(next(loader)).mean()
        if plateau:
            scheduler.step(score)  # expect: DL601
        else:
            scheduler.step()
        return score

    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
        if local_rank == 0:
            validate()


def rate_where_all_validate(model, loader, optimizer, scheduler):
    def validate():
        scheduler.step()

    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
        validate()


class Turns:
    def __init__(self, partition=True):
        self.partition = partition
        self.update()

    def update(self):
        self.rank, self.ranks = 0, 1
        if dist.is_initialized():
            self.rank = dist.get_rank()
            self.ranks = dist.get_world_size()

    def of(self, names):
        if self.partition:
            names = names[self.rank :: self.ranks]
        return names


class Names(IterableDataset):
    # wespeaker dfa7419 wespeaker/dataset/dataset.py:107: what makes the turns asks for the rank
    def __init__(self, names, partition=True):
        self.names = names
        self.turns = Turns(partition)

    def __iter__(self):
        for name in self.turns.of(self.names):
            yield {"name": name}


class Mapped(IterableDataset):
    def __init__(self, source, function):
        self.source = source
        self.function = function

    def __iter__(self):
        return map(self.function, self.source)


def names_of(path, partition=True):
    with open(path) as file:
        found = Names(file.readlines(), partition=partition)
    return Mapped(found, len)


class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        with open(self.path) as file:
            yield from itertools.islice(file, dist.get_rank(), None, dist.get_world_size())


class EachTurn(IterableDataset):
    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        for index, sample in enumerate(self.samples):
            if index % dist.get_world_size() == dist.get_rank():
                yield sample


class Blocks(Dataset):
    def __init__(self, samples):
        size = len(samples) // dist.get_world_size()
        start = dist.get_rank() * size
        self.samples = samples[start : start + size]

    def __getitem__(self, index):
        return self.samples[index]


def learning_rate_by_names_of_this_rank(model, scheduler, args, criterion):
    loss = validate(model, DataLoader(names_of(args.path), batch_size=None), criterion)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    scheduler.step(loss)  # expect: DL601


def learning_rate_by_lines_of_this_rank(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(Lines(args.path)), criterion)
    scheduler.step(loss)  # expect: DL601


def learning_rate_by_turns_of_this_rank(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(EachTurn(args.samples)), criterion)
    scheduler.step(loss)  # expect: DL601


def learning_rate_by_a_block_of_this_rank(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(Blocks(args.samples)), criterion)
    scheduler.step(loss)  # expect: DL601


def plateau_of_each_batch(model, loader, optimizer, scheduler):
    # microsoft/VQ-Diffusion image_synthesis/engine/solver.py:290
    model = DistributedDataParallel(model)
    for batch in loader:
        output = model(batch)
        output["loss"].backward()
        optimizer.step()
        scheduler.step(output.get("loss"))  # expect: DL601


def best_by_the_training(model, loader, optimizer, params):
    # lifeiteng/vall-e valle/bin/trainer.py:827
    model = DistributedDataParallel(model)
    total = 0.0
    for batch in loader:
        loss, loss_info = model(batch)
        loss.backward()
        optimizer.step()
        total = total * 0.9 + loss_info["loss"]
    params.train_loss = total / len(loader)
    if params.train_loss < params.best_train_loss:  # expect: DL601
        params.best_train_loss = params.train_loss


def logged_by_terms(model, criterion, loader, optimizer, writer):
    # showlab/UniVTG main/train_vlp_ddp.py:81
    model = DistributedDataParallel(model)
    meters = {}
    for batch in loader:
        loss_dict = criterion(model(batch))
        losses = sum(loss_dict[name] * 0.5 for name in loss_dict)
        losses.backward()
        optimizer.step()
        for name, value in loss_dict.items():
            meters[name].update(float(value))
    for name, value in meters.items():
        writer.add_scalar(name, value.avg)  # expect: DL601


def logged_beside_the_loss(model, geometry, loader, optimizer, logger):
    # princeton-vl/DROID-SLAM train.py:132
    model = DistributedDataParallel(model)
    for batch in loader:
        geo_loss, geo_metrics = geometry(model(batch))
        loss = 0.1 * geo_loss
        loss.backward()
        optimizer.step()
        metrics = {}
        metrics.update(geo_metrics)
        logger.push(metrics)  # expect: DL601


class StepsApart:
    # align-anything align_anything/trainers/text_to_text/sft.py:154
    def __init__(self, model, optimizer):
        self.model, self.optimizer = DistributedDataParallel(model), optimizer

    def train_step(self, batch):
        loss = self.model(batch).mean()
        loss.backward()
        self.optimizer.step()
        return {"train/loss": loss.item(), "train/lr": self.optimizer.param_groups[0]["lr"]}

    def train(self, loader, logger):
        for batch in loader:
            info = self.train_step(batch)
            logger.log(info)  # expect: DL601


class LogsItsLoss(pl.LightningModule):
    # InstantMesh src/model.py:202
    def training_step(self, batch, index):
        loss, loss_dict = self.compute_loss(batch)
        self.log_dict(loss_dict, on_epoch=True)  # expect: DL601
        if self.global_rank == 0:
            self.draw(batch)
        return loss


class KeepsLoaders:
    def loaders(self, data):
        train = DataLoader(data, sampler=DistributedSampler(data))
        held_out = {}
        for name, part in self.parts.items():
            held_out[name] = DataLoader(part, sampler=DistributedSampler(part))
        return train, held_out


class EvaluatesWhatItsBaseMade(KeepsLoaders):
    # align-anything 3f9decc align_anything/trainers/text_to_text/sft.py:178.
    def __init__(self, data, parts, model, logger):
        self.parts, self.model, self.logger = parts, model, logger
        self.make(data)

    def make(self, data):
        self.train_loader, self.eval_loader = self.loaders(data)

    def evaluate(self):
        if not isinstance(self.eval_loader, dict):
            by_name = {"all": self.eval_loader}
        else:
            by_name = self.eval_loader
        found = {}
        for name, loader in by_name.items():
            losses = []
            for batch in tqdm(loader, desc=name):
                losses.append(self.model(batch)["loss"].item())
            if losses:
                found[f"eval/loss/{name}"] = sum(losses) / len(losses)
        return found

    def run(self, step):
        self.logger.log(self.evaluate(), step=step)  # expect: DL601


class TrainerOfAPart:
    def __init__(self, model, eval_loader):
        self.model = model
        self.eval_loader = eval_loader

    def evaluate(self):
        total = 0.0
        for batch in self.eval_loader:
            total += self.model(batch).item()
        return total / len(self.eval_loader)


def best_of_an_object_that_was_given_a_share(model, data, epochs, path):
    trainer = TrainerOfAPart(model, DataLoader(data, sampler=DistributedSampler(data)))
    best = float("inf")
    for _ in range(epochs):
        loss = trainer.evaluate()
        if loss < best:  # expect: DL601
            best = loss
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def under_new_names(model, data, criterion, step):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    stats = {"loss": 0.0, "seen": 0}
    for batch in loader:
        stats["loss"] += criterion(model(batch)).item()
    wandb.log({f"test_{name}": value for name, value in stats.items()}, step=step)  # expect: DL601


class Divided(Dataset):
    # MONAI GenerativeModels 7428fce tutorials/generative/distributed_training/ddpm_training_ddp.py:105.
    def __init__(self, files):
        self.files = np.array_split(files, dist.get_world_size())[dist.get_rank()]

    def __getitem__(self, index):
        return self.files[index]


class DividedByItsBase(torchvision.datasets.DatasetFolder):
    def __init__(self, root):
        super().__init__(self.mine(root))

    def mine(self, root):
        parts = split_evenly(sorted(glob.glob(root)), num_parts=dist.get_world_size())
        return parts[dist.get_rank()]


def best_of_a_divided_data_set(model, root, epochs, path):
    loader = DataLoader(DividedByItsBase(root))
    best = float("inf")
    for _ in range(epochs):
        loss = mean_over(model, loader)
        if loss < best:  # expect: DL601
            best = loss
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def learning_rate_of_divided_files(model, args):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    scheduler.step(mean_over(model, DataLoader(Divided(args.files))))  # expect: DL601


def mean_over(model, loader):
    total = 0.0
    for batch in loader:
        total += model(batch).item()
    return total / len(loader)


class CurvesOfEachLoss:
    # Open3D-ML 5e81f52 ml3d/torch/pipelines/object_detection.py:524.
    def validate(self, model, data):
        self.losses = {}
        loader = DataLoader(data, sampler=DistributedSampler(data))
        for batch in loader:
            for name, value in model(batch).items():
                if name not in self.losses:
                    self.losses[name] = []
                self.losses[name].append(value.item())

    def draw(self, writer, epoch):
        for name, values in self.losses.items():
            writer.add_scalar("valid/" + name, np.mean(values), epoch)  # expect: DL601


def on_the_board_of_the_training(model, data, board, step):
    # SwissArmyTransformer 63dc23a sat/training/deepspeed_training.py:677.
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        total += model(batch).item()
    board.add_scalar("Train/valid_loss", total, step)  # expect: DL601


def lists_by_name(model, data, writer):
    found = {}
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        for name, value in model(batch).items():
            found.setdefault(name, []).append(value.item())
    for name in found:
        writer.add_scalar(f"val/{name}", sum(found[name]) / len(found[name]), 0)  # expect: DL601


def examples_of_the_rank(path, global_rank, world_size):
    # FiD fe769f3 src/data.py:131.
    examples = []
    with open(path) as file:
        for number, line in enumerate(file):
            if global_rank > -1 and not number % world_size == global_rank:
                continue
            examples.append(json.loads(line))
    return examples


def best_of_picked_examples(model, path, epochs):
    examples = examples_of_the_rank(path, dist.get_rank(), dist.get_world_size())
    best = float("inf")
    for _ in range(epochs):
        loss = np.mean([model(example).item() for example in examples])
        if loss < best:  # expect: DL601
            best = loss
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def rate_by_picked_samples(model, args, rank, world_size):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    mine = [s for number, s in enumerate(args.samples) if number % world_size == rank]
    scheduler.step(np.mean([model(s).item() for s in mine]))  # expect: DL601


class LoaderOfRanks(DataLoader):
    # EgoVLP 928406c base/base_data_loader.py: the samplers are made in the constructor of a loader
    def __init__(self, data, size):
        sampler = DistributedSampler(data)
        super().__init__(data, batch_size=size, sampler=sampler)


def by_a_loader_of_ranks(model, data, writer):
    loader, total = LoaderOfRanks(data, 8), 0.0
    for batch in loader:
        total += model(batch).item()
    if dist.get_rank() == 0:
        writer.add_scalar("loss", total / len(loader), 0)  # expect: DL601


class PrecisionCalculator:
    """LCASAFormer 4e5b3cb train_dist.py:461"""

    def __init__(self, threshold):
        self.threshold = threshold
        self.boxes = {}

    def step(self, boxes):
        for each in boxes:
            self.boxes[len(self.boxes)] = each

    def computed(self):
        return {"mAP": sum(self.boxes.values())}


def precision_of_one_rank(net, data, thresholds, kinds):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    calculators = [PrecisionCalculator(each) for each in thresholds]
    kept = {kind: [] for kind in kinds}
    for batch in loader:
        scores = net(batch)
        for kind in kinds:
            kept[kind].append(torch.gather(scores[kind], 1, scores["best"]))
    for kind in kinds:
        for boxes in kept[kind]:
            for calculator in calculators:
                calculator.step(boxes)
        for number, calculator in enumerate(calculators):
            metrics = calculator.computed()
            for key in metrics:
                print(f"{key} {metrics[key]}")  # expect: DL601


# Correct


class LoaderOfAll(DataLoader):
    def __init__(self, data, size, training):
        sampler = DistributedSampler(data) if training else None
        super().__init__(data, batch_size=size, sampler=sampler)


def by_a_loader_of_all(model, data, writer):
    loader, total = LoaderOfAll(data, 8, False), 0.0
    for batch in loader:
        total += model(batch).item()
    if dist.get_rank() == 0:
        writer.add_scalar("loss", total / len(loader), 0)


def logged_after_a_reduction(model, criterion, loader, optimizer, writer):
    # vissl tests/test_vit_fsdp.py:137
    model = DistributedDataParallel(model)
    losses = []
    for batch in loader:
        out = criterion(model(batch))
        out.backward()
        optimizer.step()
        dist.all_reduce(out, op=dist.ReduceOp.AVG)
        losses.append(out.item())
    writer.add_scalar("loss", sum(losses))


def learning_rate_of_a_step(step, loader, logger):
    for batch in loader:
        info = step.train_step(batch)
        logger.log(info["train/lr"])


def plateau_of_all(model, loader, optimizer, scheduler):
    model = DistributedDataParallel(model)
    for batch in loader:
        output = model(batch)
        output["loss"].backward()
        optimizer.step()
        dist.all_reduce(output["loss"], op=dist.ReduceOp.AVG)
        scheduler.step(output["loss"])


def hidden_states_by_gradient(model, hidden, steps):
    # microsoft/LoRA run_pplm.py:192: no weight is trained.
    for _ in range(steps):
        loss = model(hidden).mean()
        loss.backward()
        hidden = hidden - hidden.grad
    return hidden


def read_from_all(result, folder):
    with open(f"{folder}/part_{dist.get_rank()}.json", "w") as f:
        json.dump(result, f)
    dist.barrier()
    if dist.get_rank() == 0:
        result = []
        for rank in range(dist.get_world_size()):
            path = f"{folder}/part_{rank}.json"
            with open(path) as f:
                result += json.load(f)
    dist.barrier()
    return result


def read_from_folder(result, folder):
    np.save(f"{folder}/{dist.get_rank()}.npy", result)
    dist.barrier()
    parts = sorted(glob.glob(f"{folder}/*.npy"))
    return np.concatenate([np.load(part) for part in parts]) if len(parts) > 1 else result


def read_from_each(result, folder, ranks=None):
    torch.save(result, os.path.join(folder, f"{dist.get_rank()}.pt"))
    torch.cuda.synchronize()
    dist.barrier()
    size = dist.get_world_size()
    parts = [torch.load(os.path.join(folder, f"{rank}.pt")) for rank in range(size)]
    return parts, result


def read_from_each_behind_a_gather(result, folder):
    # ClipBERT a118b02 src/tasks/run_video_retrieval.py:720: horovod's barrier is a gather of nothing
    with open(f"{folder}/tmp_{dist.get_rank()}.json", "w") as f:
        json.dump(result, f)
    all_gather_list(None)
    if dist.get_rank() == 0:
        result = []
        for rank in range(dist.get_world_size()):
            result.extend(json.load(open(f"{folder}/tmp_{rank}.json")))
    return result


def best_of_gathered_parts(model, data, folder, epochs):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = 0.0
    for _ in range(epochs):
        result = [model(batch).item() for batch in loader]
        merged = read_from_each_behind_a_gather(result, folder)
        if dist.get_rank() == 0 and sum(merged) > best:
            best = sum(merged)
            torch.save(model.state_dict(), "best.pt")


def best_of_all_parts(model, data, folder, epochs):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = [0.0, 0.0, 0.0]
    for _ in range(epochs):
        result = [model(batch).item() for batch in loader]
        merged = read_from_all(result, folder)
        if dist.get_rank() == 0 and sum(merged) > best[0]:
            best[0] = sum(merged)
            torch.save(model.state_dict(), f"{folder}/best.pt")
        merged = read_from_folder(result, folder)
        if dist.get_rank() == 0 and sum(merged) > best[1]:
            best[1] = sum(merged)
            torch.save(model.state_dict(), f"{folder}/best_1.pt")
        if folder:
            result, _ = read_from_each(result, folder)
        if dist.get_rank() == 0 and sum(result) > best[2]:
            best[2] = sum(result)
            torch.save(model.state_dict(), f"{folder}/best_2.pt")


def written_by_each(model, data, args, criterion, out):
    # VideoMAE engine_for_finetuning.py:222: rank 0 puts the files together.
    write_part(model, data, args, criterion, os.path.join(out, str(dist.get_rank()) + ".txt"))
    dist.barrier()


def write_part(model, data, args, criterion, path):
    loader, _ = loaders(data, args)
    loss = validate(model, loader, criterion)
    with open(path, "w") as file:
        file.write(f"val loss {loss}")


class Synchronised(pl.LightningModule):
    def training_step(self, batch, index):
        self.log("val_score", self.model(batch).mean())

    def validation_step(self, batch, index):
        self.log("val_loss", self.model(batch).mean(), sync_dist=True)


class LogsWhatWasGathered(pl.LightningModule):
    def validation_step(self, batch, index):
        numbers = {"val_noise": self.model(batch).std()}
        numbers["val_loss"] = self.all_gather(self.model(batch).mean()).mean()
        self.log_dict(numbers, rank_zero_only=True)

    def validation_epoch_end(self, outputs):
        self.log_dict({"val_loss": self.mean_of(outputs)}, sync_dist=True)
        self.log_dict({"val_noise": self.mean_of(outputs)})
        if self.global_rank == 0:
            self.log_dict({"val_loss": self.mean_of(outputs)}, rank_zero_only=True)


def by_a_metric_of_what_was_gathered(model, data):
    accelerator = Accelerator()
    metric = evaluate.load("accuracy")
    model, loader = accelerator.prepare(model, DataLoader(data))
    for inputs, labels in loader:
        predictions = model(inputs).argmax(-1)
        predictions, labels = accelerator.gather_for_metrics((predictions, labels))
        metric.add_batch(predictions=predictions, references=labels)
    accelerator.print("eval accuracy", metric.compute()["accuracy"])


def emptied_before_what_was_gathered(model, data, held_out):
    # AgentTuning e33a45d AgentBench.old/src/tasks/webshop/baseline_models/train_choice_il.py:600
    accelerator = Accelerator()
    metric = evaluate.load("accuracy")
    model, loader, others = accelerator.prepare(model, DataLoader(data), DataLoader(held_out))
    for inputs, labels in loader:
        metric.add_batch(predictions=model(inputs).argmax(-1), references=labels)
    if len(metric) > 0:
        metric.compute()
    for inputs, labels in others:
        predictions, labels = accelerator.gather_for_metrics((model(inputs).argmax(-1), labels))
        metric.add_batch(predictions=predictions, references=labels)
    accelerator.print("eval accuracy", metric.compute()["accuracy"])


def computed_before_what_was_gathered(model, data, held_out):
    accelerator = Accelerator()
    metric = evaluate.load("accuracy")
    model, loader, others = accelerator.prepare(model, DataLoader(data), DataLoader(held_out))
    for inputs, labels in loader:
        metric.add_batch(predictions=model(inputs).argmax(-1), references=labels)
    metric.compute()
    for inputs, labels in others:
        predictions, labels = accelerator.gather_for_metrics((model(inputs).argmax(-1), labels))
        metric.add_batch(predictions=predictions, references=labels)
    accelerator.print("eval accuracy", metric.compute()["accuracy"])


def reduced_first(model, data, path, epochs):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = float("inf")
    for _ in range(epochs):
        total = torch.zeros(())
        for batch in loader:
            total += model(batch).detach()
        dist.all_reduce(total)
        loss = total.item() / dist.get_world_size()
        if loss < best:
            best = loss
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def reduce_mean(tensor):
    if not dist.is_initialized():
        return tensor
    tensor = tensor.clone()
    dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    tensor /= dist.get_world_size()
    return tensor


def drawn_and_averaged(model, optimizer, draw, steps):
    model = DistributedDataParallel(model)
    for _ in range(steps):
        loss = model(draw()).mean()
        loss.backward()
        optimizer.step()
        average = reduce_mean(loss.detach().clone())
        wandb.log({"loss": average.item()})


def summed_in_place(model, optimizer, draw, steps):
    model = DistributedDataParallel(model)
    for _ in range(steps):
        loss = model(draw()).mean()
        loss.backward()
        optimizer.step()
        shown = loss.detach().clone()
        dist.all_reduce(shown, op=dist.ReduceOp.AVG)
        wandb.log({"loss": shown.item()})


def averaged_by_its_meter(model, optimizer, draw, steps, meters):
    model = DistributedDataParallel(model)
    for _ in range(steps):
        loss = model(draw()).mean()
        loss.backward()
        optimizer.step()
        meters.update(loss=loss.item())
    meters.synchronize_between_processes()
    wandb.log({"loss": meters.loss})


def nothing_of_the_loss(model, optimizer, draw, steps):
    model = DistributedDataParallel(model)
    for step in range(steps):
        loss = model(draw()).mean()
        loss.backward()
        optimizer.step()
        wandb.log({"lr": optimizer.param_groups[0]["lr"], "epoch": step / steps})


def by_a_helper(model, data, args, criterion, scheduler):
    loader, _ = loaders(data, args)
    for _ in range(args.epochs):
        loss = reduce_mean(torch.tensor(validate(model, loader, criterion)))
        scheduler.step(loss)


def by_a_meter(model, data, args, criterion):
    loader, _ = loaders(data, args)
    best = 0.0
    for _ in range(args.epochs):
        losses = ReducedMeter()
        for inputs, targets in loader:
            losses.update(criterion(model(inputs), targets).item())
        losses.synchronize_between_processes()
        if losses.average < best:
            best = losses.average


def gathered_in_the_loop(model, data, best):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data))
    losses = []
    for batch in loader:
        losses.append(accelerator.gather_for_metrics(model(batch)))
    loss = torch.cat(losses).mean()
    if loss < best:
        best = loss
    accelerator.log({"val/loss": loss})
    return best


class PageLoader:
    """Where a page begins is a matter of the page, and the rank is kept for messages."""

    def __init__(self, tokens, batch, rank):
        self.tokens = tokens
        self.batch = batch
        self.rank = rank
        self.page = 0

    def next_batch(self):
        self.page += 1
        start = self.page * self.batch
        return self.tokens[start : start + self.batch]


def all_tokens(model, tokens, steps):
    own_rank = int(os.environ["RANK"])
    loader = PageLoader(tokens, 4, own_rank)
    val_loss = 0.0
    for _ in range(steps):
        val_loss += model(loader.next_batch()).item()
    print(f"val loss {val_loss / steps}")


def all_tokens_on_rank_0(model, tokens, steps):
    loader = TokenLoader(tokens, 4, 0, 1)
    val_loss = 0.0
    for _ in range(steps):
        val_loss += model(loader.next_batch()).item()
    print(f"val loss {val_loss / steps}")


def own_tokens_reduced(model, tokens, steps):
    own_rank = int(os.environ["RANK"])
    loader = TokenLoader(tokens, 4, own_rank, dist.get_world_size())
    total = torch.zeros(1)
    for _ in range(steps):
        total += model(loader.next_batch()).detach()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    val_loss = total.item() / steps
    print(f"val loss {val_loss}")


def every_rank_sees_all(model, data, criterion, epochs, scheduler):
    loader = DataLoader(data, batch_size=8)
    best = 0.0
    for _ in range(epochs):
        loss = validate(model, loader, criterion)
        scheduler.step(loss)
        if loss < best:
            best = loss


def rank_0_sees_all(model, data, rank, criterion, make):
    loader, _ = make(data, rank=-1)
    if rank == 0:
        wandb.log({"val/loss": validate(model, loader, criterion)})


def loader_of(data, rank=-1):
    sampler = DistributedSampler(data) if rank != -1 else None
    return DataLoader(data, sampler=sampler)


def one_process_loader(model, data, criterion):
    loader = loader_of(data, rank=-1)
    wandb.log({"val/loss": validate(model, loader, criterion)})


def the_length_is_no_metric(model, data, args):
    loader, _ = loaders(data, args)
    if dist.get_rank() == 0:
        print(f"validation batches: {len(loader)}, test data: {len(data)}")


def draws_some_samples(model, data, optimizer, writer):
    # StyleTTS2 5cedc71 train_first.py:413: the index of a sample, in a loop that only draws
    accelerator = Accelerator()
    loader = DataLoader(data)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss, outputs = model(batch)
        accelerator.backward(loss.mean())
        for number in range(len(outputs)):
            writer.add_image(str(number), outputs[number])
            if number >= 6:
                break
        for output in outputs:
            if output.mean() > 1:
                break


def some_batches(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for number in range(len(loader)):
        accelerator.backward(model(number).mean())
        if number >= len(loader) // 2:
            break


def agreed_on(model, data, args, criterion, epochs):
    loader, _ = loaders(data, args)
    for _ in range(epochs):
        stop = torch.tensor(float(validate(model, loader, criterion) < 0.1))
        dist.broadcast(stop, 0)
        if stop.item() > 0.5:
            break


def unknown_loader(model, val_loader, criterion, best):
    loss = validate(model, val_loader, criterion)
    if loss < best:
        best = loss
    return best


def by_a_metric_that_gathers(model, data, metric, args):
    loader, _ = loaders(data, args)
    for batch in loader:
        metric.update(model(batch), batch["labels"])
    print("val accuracy", metric.compute())


def by_a_library_of_metrics(model, data):
    metric = torchmetrics.Accuracy(task="multiclass", num_classes=10)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for inputs, labels in loader:
        metric.update(model(inputs), labels)
    print("val accuracy", metric.compute())


def reduced_by_name(model, data, strategy, args, bar):
    loader, _ = loaders(data, args)
    total = 0.0
    for batch in loader:
        total += model(batch).item()
    logs = {"eval_loss": total / len(loader)}
    logs = strategy.all_reduce(logs)
    bar.set_postfix(logs)


def window_of_this_copy(model, data):
    # FlagEmbedding 7ed43d6 research/Long_LLM/activation_beacon/main/eval_topic.py:146
    loader = Accelerator().prepare(DataLoader(data))
    window = 2048
    for batch in loader:
        length = batch["length"][0].item()
        if length < window:
            window = length // 256 * 256
            model.memory.set(window=window)
        model(batch)


def denoised(model, data, noise_scheduler, steps):
    # ImageReward ImageReward/ReFL.py:728: a scheduler of noise, not of learning rates
    model, loader = Accelerator().prepare(model, DataLoader(data))
    for latents in loader:
        for step in steps:
            error_pred = model(latents, step)
            latents = noise_scheduler.step(error_pred, step, latents).prev_sample


def last_words(model, data, args):
    # LLaMA-Adapter alpaca_finetuning_v1/engine_finetuning.py:111
    model.eval()
    loader, _ = loaders(data, args)
    for batch in loader:
        val_loss = model(batch).mean().item()
        if not math.isfinite(val_loss):
            print(f"val loss is {val_loss}, stopping")
            sys.exit(1)


def longest(data):
    loader = Accelerator().prepare(DataLoader(data))
    most = 0
    for batch in loader:
        if batch["length"].max().item() > most:
            most = batch["length"].max().item()


def validate_in_place(model, loader, criterion):
    total = torch.zeros(1)
    count = torch.zeros(1)
    for batch in loader:
        total += criterion(model(batch), batch)
        count += 1
    if dist.is_initialized():
        dist.all_reduce(total), dist.all_reduce(count)
    return (total / count).item()


def validate_in_list(model, loader, criterion):
    total = torch.zeros(2)
    for batch in loader:
        total += criterion(model(batch), batch)
    [dist.all_reduce(each) for each in total]
    dist.all_reduce(total) if dist.get_world_size() > 1 else None
    return total.mean().item()


def reduced_by_either(model, data, args, criterion):
    loader, _ = loaders(data, args)
    evaluate_with = validate_in_place if args.fast else validate_in_list
    print(f"val_loss {evaluate_with(model, loader, criterion)}")


def reduced_by_one_of_two(model, data, args, criterion):
    # nobody says which of them it is
    loader, _ = loaders(data, args)
    if args.fast:
        evaluate_with = validate
    else:
        evaluate_with = validate_in_place
    print(f"val_loss {evaluate_with(model, loader, criterion)}")


def reduced_by_default(model, data, args, criterion):
    # ULIP f194ddb models/pointnext/PointNeXt/examples/classification/train.py:120
    loader, _ = loaders(data, args)
    evaluate_with = eval(args.get("val_fn", "validate_in_place"))
    print(f"val_loss {evaluate_with(model, loader, criterion)}")


def reduced_by_table(model, data, args, criterion):
    loader, _ = loaders(data, args)
    evaluate_with = {"fast": validate_in_place, "slow": validate_in_list}.get(args.kind)
    print(f"val_loss {evaluate_with(model, loader, criterion)}")


def perhaps_reduced(model, data, args, criterion, tasks):
    loader, _ = loaders(data, args)
    evaluate_with = getattr(tasks, args.val_fn)
    print(f"val_loss {evaluate_with(model, loader, criterion)}")


def perhaps_another(model, data, args, criterion, task):
    loader, _ = loaders(data, args)
    evaluate_with = validate if args.plain else task.evaluate_with
    print(f"val_loss {evaluate_with(model, loader, criterion)}")


def put_back(model, data, args, criterion):
    # semantic-segmentation 7726b14 utils/misc.py:109: only in a launch with ranks there are parts
    loader, _ = loaders(data, args)
    found = {}
    found[1.0] = np.array(validate(model, loader, criterion))
    if args.apex:
        both = torch.FloatTensor(found[1.0])
        dist.all_reduce(both, op=dist.ReduceOp.SUM)
        found[1.0] = both.cpu().numpy()
    val_loss = found[args.scale]
    print(f"val_loss {val_loss}")


def one_replica(model, data, criterion):
    # msn 4388dc1 logistic_eval.py:135
    print(f"val_loss {validate(model, loader_for(data, world_size=1, rank=0), criterion)}")


def one_replica_by_default(model, data, criterion):
    print(f"val_loss {validate(model, loader_for(data), criterion)}")


def totals(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    total, count = torch.zeros(1), torch.zeros(1)
    for batch in loader:
        total += model(batch).sum()
        count += len(batch)
    return total, count


def reduced_by_keyword(model, data):
    total, count = totals(model, data)
    dist.all_reduce(tensor=total)
    dist.all_reduce(tensor=count, op=dist.ReduceOp.SUM)
    print(f"val_loss {total / count}")


def reduced_in_its_memory(model, data):
    total, count = totals(model, data)
    dist.all_reduce(total.data), dist.all_reduce(count.view(-1))
    print(f"val_loss {total / count}")


def reduced_in_a_comprehension(model, data):
    total, count = totals(model, data)
    [dist.all_reduce(each) for each in (total, count)]
    print(f"val_loss {total / count}")


def reduced_key_by_key(model, data):
    total, count = totals(model, data)
    logs = {"total": total, "count": count}
    for key, value in logs.items():
        value = value.cuda()
        dist.all_reduce(value)
        logs[key] = value.item()
    print(f"val_loss {logs['total'] / logs['count']}")


def reduced_value_by_value(model, data):
    total, count = totals(model, data)
    logs = {"total": total, "count": count}
    for value in logs.values():
        dist.all_reduce(value)
    print(f"val_loss {logs['total'] / logs['count']}")


def rate_of_all_by_what_rank_zero_has_found(model, loader, optimizer, scheduler, evaluate_on):
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
    score = torch.zeros(1)
    if dist.get_rank() == 0:
        score += evaluate_on(model.module)
    dist.broadcast(score, 0)
    scheduler.step(score.item())


def noise_of_rank_zero_alone(model, loader, noise_scheduler, draw):
    for batch in loader:
        model(batch).mean().backward()
    if dist.get_rank() == 0:
        sample = torch.randn(4)
        for time in range(10):
            sample = noise_scheduler.step(model.module(sample), time, sample)
        draw(sample)


def learning_rate_by_all_names(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(names_of(args.path, partition=False)), criterion)
    scheduler.step(loss)


def learning_rate_by_names_as_asked_for(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(names_of(args.path, args.partition)), criterion)
    scheduler.step(loss)


def learning_rate_by_lines_of_all(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = torch.tensor(validate(model, DataLoader(Lines(args.path)), criterion))
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    scheduler.step(loss)


class OfWorkers(IterableDataset):
    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        print(dist.get_rank())
        yield from self.samples[worker.id :: worker.num_workers]


def learning_rate_by_the_workers_samples(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(OfWorkers(args.samples)), criterion)
    scheduler.step(loss)


class OfTraining(IterableDataset):
    def __init__(self, samples, split):
        self.samples = samples
        self.split = split

    def __iter__(self):
        if self.split == "train":
            yield from self.samples[dist.get_rank() :: dist.get_world_size()]
        else:
            yield from self.samples


def learning_rate_by_the_whole_split(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(OfTraining(args.samples, "val")), criterion)
    scheduler.step(loss)


class ForThoseToldTheirRank(Dataset):
    # yolov5 utils/dataloaders.py, LoadImagesAndLabels: the loader of the validation is made with -1
    def __init__(self, samples, rank=-1):
        self.indices = np.arange(len(samples))
        if rank > -1:
            self.indices = self.indices[self.indices % dist.get_world_size() == dist.get_rank()]
        self.samples = samples

    def __getitem__(self, index):
        return self.samples[self.indices[index]]


def learning_rate_by_those_of_no_rank(model, args, criterion):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    loss = validate(model, DataLoader(ForThoseToldTheirRank(args.samples)), criterion)
    scheduler.step(loss)


def best_where_no_launcher_is(args, model, data, path, epochs):
    # Oscar 266075f oscar/run_gqa.py:511, oscar/run_nlvr.py:498.
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = float("inf")
    for _ in range(epochs):
        loss = sum(model(batch).item() for batch in loader) / len(loader)
        if args.local_rank == -1 and args.evaluate_during_training:
            if loss < best:
                best = loss
                torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


# Meters that a loop, a helper or the object around them reduces: GLaMM e74865f train.py:619, LaViLa 8002b5a
# main_pretrain.py:606.


def shared_of_a_dict(model, loader, writer, epoch):
    meters = {"hits": ReducedMeter(), "union": ReducedMeter()}
    for batch in DataLoader(loader.dataset, sampler=DistributedSampler(loader.dataset)):
        meters["hits"].update(model(batch).sum().numpy())
        meters["union"].update(model(batch).numel())
    for meter in meters.values():
        meter.synchronize_between_processes()
    iou = (meters["hits"].total / (meters["union"].total + 1e-10))[1]
    writer.add_scalar("val/iou", iou, epoch)
    return iou


def best_by_a_dict_of_meters(model, loader, writer, epochs):
    best = 0.0
    for epoch in range(epochs):
        iou = shared_of_a_dict(model, loader, writer, epoch)
        best_so_far = iou > best
        if best_so_far:
            best = iou
            torch.save(model.state_dict(), f"best.{dist.get_rank()}")


def shared_by_key(model, data, writer):
    meters = {"loss": ReducedMeter(), "acc": ReducedMeter()}
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss, acc = model(batch)
        meters["loss"].update(loss.item())
        meters["acc"].update(acc.item())
    for name in meters:
        meters[name].synchronize_between_processes()
    writer.add_scalar("val/loss", meters["loss"].average, 0)
    writer.add_scalar("val/acc", meters["acc"].average, 0)


def reduce_all(meters):
    for _, meter in meters.items():
        meter.synchronize_between_processes()


def shared_by_a_helper(model, data, writer):
    meters = {"loss": ReducedMeter(), "acc": ReducedMeter()}
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss, acc = model(batch)
        meters["loss"].update(loss.item())
        meters["acc"].update(acc.item())
    reduce_all(meters)
    writer.add_scalar("val/loss", meters["loss"].average, 0)
    writer.add_scalar("val/acc", meters["acc"].average, 0)


def shared_in_a_list(model, data, writer):
    losses, accs = ReducedMeter(), ReducedMeter()
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss, acc = model(batch)
        losses.update(loss.item())
        accs.update(acc.item())
    [meter.synchronize_between_processes() for meter in (losses, accs)]
    writer.add_scalar("val/loss", losses.average, 0)
    writer.add_scalar("val/acc", accs.average, 0)


class Progress:
    def __init__(self, *meters):
        self.meters = meters

    def synchronize(self):
        for meter in self.meters:
            meter.synchronize_between_processes()


def shared_by_what_holds_them(model, data, writer):
    losses = ReducedMeter()
    progress = Progress(losses)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        losses.update(model(batch).item())
    progress.synchronize()
    writer.add_scalar("val/loss", losses.average, 0)


class Evaluated:
    def __init__(self, data):
        self.data = data
        self.losses, self.accs = ReducedMeter(), ReducedMeter()

    def test(self, model, writer):
        for batch in DataLoader(self.data, sampler=DistributedSampler(self.data)):
            loss, acc = model(batch)
            self.losses.update(loss.item())
            self.accs.update(acc.item())
        for meter in vars(self).values():
            if isinstance(meter, ReducedMeter):
                meter.synchronize_between_processes()
        writer.add_scalar("val/loss", self.losses.average, 0)
        writer.add_scalar("val/acc", self.accs.average, 0)


def a_sample_that_rank_0_draws(model, data, writer, steps):
    # soundstorm-pytorch 8119522 soundstorm_pytorch/trainer.py:285: nobody is there to reduce it with.
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(data))
    batches = iter(loader)
    for step in range(steps):
        accelerator.wait_for_everyone()
        if accelerator.is_main_process and step % 100 == 0:
            valid_loss = model(next(batches))
            writer.add_scalar("valid_loss", valid_loss.item(), step)


def validate_with_a_curve(model, data, criterion):
    # LaViLa 8002b5a main_pretrain.py:604.
    losses = ReducedMeter()
    for step, batch in enumerate(DataLoader(data, sampler=DistributedSampler(data))):
        loss = criterion(model(batch))
        losses.update(loss.item())
        if step % 10 == 0 and dist.get_rank() == 0:
            wandb.log({"val_loss": loss.item()})  # expect: DL601
    losses.synchronize_between_processes()
    return losses.average


class ReducesWhatItsBaseMade(EvaluatesWhatItsBaseMade):
    def evaluate(self):
        found = {}
        for name, loader in self.eval_loader.items():
            losses = torch.stack([self.model(batch)["loss"] for batch in loader]).mean()
            dist.all_reduce(losses, op=dist.ReduceOp.AVG)
            found[f"eval/loss/{name}"] = losses.item()
        return found

    def run(self, step):
        self.logger.log(self.evaluate(), step=step)


class EvaluatesAllOnEachRank(KeepsLoaders):
    def make(self, data, held_out):
        self.train_loader, _ = self.loaders(data)
        self.eval_loader = DataLoader(held_out)

    def evaluate(self):
        losses = [self.model(batch)["loss"].item() for batch in self.eval_loader]
        return {"eval/loss": sum(losses) / len(losses)}

    def run(self, step):
        self.logger.log(self.evaluate(), step=step)




class ReducesWhatItWasGiven:
    def __init__(self, model, eval_loader):
        self.model = model
        self.eval_loader = eval_loader

    def evaluate(self):
        losses = torch.stack([self.model(batch) for batch in self.eval_loader]).mean()
        dist.all_reduce(losses, op=dist.ReduceOp.AVG)
        return losses.item()


def best_of_an_object_that_reduces(model, data, epochs, path):
    trainer = ReducesWhatItWasGiven(model, DataLoader(data, sampler=DistributedSampler(data)))
    best = float("inf")
    for _ in range(epochs):
        loss = trainer.evaluate()
        if loss < best:
            best = loss
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def written_for_each_rank(model, data, folder):
    # align-anything 3f9decc align_anything/trainers/text_to_text/rm_score.py:153.
    scores = [model(batch).item() for batch in DataLoader(data, sampler=DistributedSampler(data))]
    with open(f"{folder}/process_{dist.get_rank()}.json", "w") as file:
        json.dump(scores, file)
        print(f"test: saved {len(scores)} scores")


class DividedForTraining(Dataset):
    def __init__(self, files, train=True):
        if train:
            files = np.array_split(files, dist.get_world_size())[dist.get_rank()]
        self.files = files

    def __getitem__(self, index):
        return self.files[index]


def learning_rate_of_all_files(model, args):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    scheduler.step(mean_over(model, DataLoader(DividedForTraining(args.files, train=False))))


def learning_rate_of_the_fastest(model, args, times):
    every = gather_times(times, dist.get_world_size())
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    scheduler.step(every[dist.get_rank()])


class CurvesOfReducedLosses:
    def validate(self, model, data):
        self.losses = {}
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            for name, value in model(batch).items():
                dist.all_reduce(value, op=dist.ReduceOp.AVG)
                self.losses.setdefault(name, []).append(value.item())

    def draw(self, writer, epoch):
        for name, values in self.losses.items():
            writer.add_scalar("valid/" + name, np.mean(values), epoch)


def curves_of_gathered_lists(model, data, writer):
    found = {}
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        for name, value in model(batch).items():
            found.setdefault(name, []).append(value.item())
    for name in found:
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, found[name])
        values = [value for part in every for value in part]
        writer.add_scalar(f"val/{name}", sum(values) / len(values), 0)


def curve_of_the_rate(model, data, writer, scheduler):
    for step, batch in enumerate(DataLoader(data, sampler=DistributedSampler(data))):
        model(batch)
        writer.add_scalar("val/rate", scheduler.get_last_lr()[0], step)


def rate_by_samples_of_each_machine(model, args, rank, world_size):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    kept = [s for number, s in enumerate(args.samples) if number % 8 == 0]
    scheduler.step(np.mean([model(s).item() for s in kept]))


def rate_by_picked_samples_of_all(model, args, rank, world_size):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(args.optimizer)
    total = torch.zeros(1)
    for number in range(len(args.samples)):
        if number % world_size != rank:
            continue
        total += model(args.samples[number])
    dist.all_reduce(total)
    scheduler.step(total.item())


class StopsByAllRanks:
    # LongVA f4c8781 longva/trl/trainer/ppo_trainer.py:773: what is asked reduces its argument first
    def __init__(self, model, data):
        self.model = model
        self.loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))

    def train(self, epochs):
        for _ in range(epochs):
            loss = validate(self.model, self.loader, torch.nn.MSELoss())
            if self._early_stop(loss):
                break

    def _early_stop(self, loss):
        dist.all_reduce(loss)
        return loss / dist.get_world_size() > 1.5


class StopsByItself(StopsByAllRanks):
    def train(self, epochs):
        for _ in range(epochs):
            loss = validate(self.model, self.loader, torch.nn.MSELoss())
            if self.early_stop(loss):  # expect: DL601
                break

    def early_stop(self, loss):
        return loss > 1.5


def measured_in_one_process(args, model, data, path):
    # CodeGen e3e8855 CodeXGLUE/Code-Code/Clone-detection-BigCloneBench/code/run.py:303
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    best = float("inf")
    for _ in range(3):
        if args.local_rank == -1:
            loss = sum(model(batch).item() for batch in loader) / len(loader)
        if loss < best:
            best = loss
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def evaluated_under_the_same_name(net, loader, whole, optimizer, path):
    # CodeGen e3e8855 CodeXGLUE/Code-Text/code-to-text/code/run.py:422: all of the data, on every rank
    model = DistributedDataParallel(net)
    best_loss = float("inf")
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        total = 0.0
        for part in whole:
            with torch.no_grad():
                loss = model(part)
            total += loss.sum().item()
        if total < best_loss:
            best_loss = total
            torch.save(net.state_dict(), f"{path}.{dist.get_rank()}")


def decided_by_the_last_batch(net, loader, whole, optimizer, path):
    model = DistributedDataParallel(net)
    best_loss = float("inf")
    for batch in loader:
        with torch.no_grad():
            loss = model(whole)
        print(loss)
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if loss.item() < best_loss:  # expect: DL601
            best_loss = loss.item()
            torch.save(net.state_dict(), f"{path}.{dist.get_rank()}")


def own_vectors_put_back(model, data, scheduler, rank):
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        own = model(batch)
        vectors = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(vectors, own)
        vectors[rank] = own
        total += torch.cat(vectors).mean().item()
    scheduler.step(total)


def own_vectors_after_one(model, data, scheduler, rank):
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        own = model(batch)
        vectors = [torch.zeros_like(own)]
        vectors[rank] = own
        total += torch.cat(vectors).mean().item()
    scheduler.step(total)  # expect: DL601


def gather_sent(data, size):
    buffer = torch.zeros(size * dist.get_world_size())
    start = dist.get_rank() * size
    buffer[start : start + size].copy_(data)
    dist.all_reduce(buffer)
    return [buffer[i * size : (i + 1) * size] for i in range(dist.get_world_size())]


def own_vectors_among_copies(model, data, scheduler, rank, size):
    # ANCE c8439df drivers/run_ann_dpr.py:333: the copies that are sent hold what was copied into them
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        own = model(batch)
        sent = torch.empty_like(own).cpu().copy_(own).detach_()
        vectors = []
        for i, each in enumerate(gather_sent(sent, size)):
            if i != rank:
                vectors.append(each.to(own.device))
            else:
                vectors.append(own)
        total += torch.cat(vectors).mean().item()
    scheduler.step(total)


def of_a_copy(model, data, scheduler):
    total = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        own = model(batch)
        total += torch.empty_like(own).cpu().copy_(own).mean().item()
    scheduler.step(total)  # expect: DL601


def joins_reduced_numbers(model, loader, strategy, every, log):
    loss_sum = 0
    for step, batch in enumerate(loader, 1):
        loss = model(batch).mean()
        strategy.backward(loss)
        loss_sum += loss.item()
        logs = {"loss": loss.item()}
        logs = strategy.all_reduce(logs)
        if step % every == 0:
            logs["loss_mean"] = loss_sum / every  # expect: DL601
            loss_sum = 0
            log(step, logs)


def joins_before_they_are_reduced(model, loader, strategy, every, log):
    loss_sum = 0
    for step, batch in enumerate(loader, 1):
        loss = model(batch).mean()
        strategy.backward(loss)
        loss_sum += loss.item()
        logs = {"loss": loss.item(), "loss_mean": loss_sum / step}
        logs = strategy.all_reduce(logs)
        logs["step"] = step / every
        log(step, logs)


def joins_reduced_numbers_reduced(model, loader, strategy, every, log):
    loss_sum = 0
    for step, batch in enumerate(loader, 1):
        loss = model(batch).mean()
        strategy.backward(loss)
        average = strategy.all_reduce(loss.detach())
        loss_sum += average.item()
        logs = strategy.all_reduce({"loss": loss.item()})
        if step % every == 0:
            logs["loss_mean"] = loss_sum / every
            loss_sum = 0
            log(step, logs)


def by_class(predictions, labels, loader):
    if isinstance(loader, list):
        known = set(loader)
    else:
        known = set(loader.dataset.labels)
    return sum(float(a == b) for a, b in zip(predictions, labels) if b in known)


def by_batch(predictions, labels, loader):
    known = {label for _, label in loader} | set(loader.dataset.labels)
    return sum(float(a == b) for a, b in zip(predictions, labels) if b in known)


def asks_a_loader_for_the_whole_set(model, data, labels, scheduler):
    # Parametric-Contrastive-Learning fe56535 GPaCo/LT/multitask_lt.py:545
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        model(batch)
    accuracy = by_class(model(data), labels, loader)
    scheduler.step(accuracy)


def asks_a_loader_for_its_batches(model, data, labels, scheduler):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        model(batch)
    accuracy = by_batch(model(data), labels, loader)
    scheduler.step(accuracy)  # expect: DL601


class Totals:
    """Two numbers in one tensor, which is reduced: makani 2dfc4c8 makani/utils/metric.py:609."""

    def __init__(self, group):
        self.group = group
        self.both = torch.zeros(2)
        self.loss = self.both[0].view(-1)
        self.steps = self.both[1].view(-1)

    def evaluate(self, model, data, scheduler):
        loader = DataLoader(data, sampler=DistributedSampler(data))
        self.both.fill_(0)
        for batch in loader:
            self.loss += model(batch)
            self.steps += 1
        dist.all_reduce(self.both, group=self.group)
        self.loss /= self.steps
        scheduler.step(self.loss.item())


class TotalsApart:
    """The first number is no view any more when the tensor is reduced."""

    def __init__(self, group):
        self.group = group
        self.both = torch.zeros(2)
        self.loss = self.both[0].view(-1)

    def evaluate(self, model, data, scheduler):
        loader = DataLoader(data, sampler=DistributedSampler(data))
        self.loss = torch.zeros(1)
        for batch in loader:
            self.loss += model(batch)
        dist.all_reduce(self.both, group=self.group)
        scheduler.step(self.loss.item())  # expect: DL601


def total_in_a_tensor(model, data, scheduler):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    both = torch.zeros(2)
    loss, steps = both[0], both[1]
    for batch in loader:
        loss += model(batch)
        steps += 1
    dist.all_reduce(both)
    scheduler.step((loss / steps).item())


def measured_as_a_dict(model, data):
    losses = []
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        losses.append(model(batch).item())
    return dict(loss=sum(losses) / len(losses), losses=losses)


def over_all_ranks(trained, tested):
    # transformer-sequential 9650fc9 distributed.py:70: what it is given has the sum under the same keys.
    both = torch.zeros(2)
    both[0] = trained["loss"]
    both[1] = tested["loss"]
    dist.reduce(both, 0)
    if dist.get_rank() == 0:
        trained["loss"] = both[0].item() / dist.get_world_size()
        tested["loss"] = both[1].item() / dist.get_world_size()
    return trained, tested


def counted_over_all_ranks(trained, tested):
    count = torch.tensor(float(len(trained["losses"])))
    dist.all_reduce(count)
    trained["count"] = count.item()
    return trained, tested


def shown_once_reduced(model, data, held_out):
    trained, tested = measured_as_a_dict(model, data), measured_as_a_dict(model, held_out)
    trained, tested = over_all_ranks(trained, tested)
    print("val loss", tested["loss"])


def shown_with_another_number_reduced(model, data, held_out):
    trained, tested = measured_as_a_dict(model, data), measured_as_a_dict(model, held_out)
    trained, tested = counted_over_all_ranks(trained, tested)
    print("val loss", tested["loss"])  # expect: DL601


def scores_of_a_share(model, data):
    scores, hits, seen = [], 0, 0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        hits += model(batch).item()
        seen += 1
    scores.append(hits / seen)
    scores.append(hits)
    return scores


def scores_of_all(model, data, known):
    # PersFormer_3DLane 3ed3109 experiments/runner.py:610: the first number is that of all ranks from here on.
    scores = scores_of_a_share(model, data)
    if known:
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, scores)
        scores[0] = np.mean([each[0] for each in every])
        return 0, scores
    return 0, None


def best_of_all_scores(model, data, epochs, path):
    best = 0.0
    for _ in range(epochs):
        _, scores = scores_of_all(model, data, True)
        if scores[0] > best:
            best = scores[0]
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def best_of_own_scores(model, data, epochs, path):
    best = 0.0
    for _ in range(epochs):
        _, scores = scores_of_all(model, data, True)
        if scores[1] > best:  # expect: DL601
            best = scores[1]
            torch.save(model.state_dict(), f"{path}.{dist.get_rank()}")


def steps_of_updates(args, net, optimizer, batches):
    # 1xgpt 0069734 train.py:621: the number by which the loss is divided counts steps as well.
    args = parsed(args)
    net = DistributedDataParallel(net)
    done = args.begun // args.batches_per_step
    for batch in batches:
        loss = net(batch).mean()
        (loss / args.batches_per_step).backward()
        optimizer.step()
        done += 1
        if done >= args.most_steps:
            break


def sum_that_is_never_begun(model, data, best):
    # OmniMamba b372978 trainer.py:144 ends in UnboundLocalError.
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        summed += model(batch).item()  # noqa: F821
    if summed < best:  # noqa: F821
        best = summed  # noqa: F821
    return best


class RemembersTheLeast:
    # SAM-Med3D f3de1fa train.py:389
    def fit(self, model, loader, optimizer):
        self.least_best = math.inf
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            number = loss.item()
            if number < self.least_best:
                self.least_best = number


class LogsAtTheEnd(pl.LightningModule):
    # HumanTOMATO b5ccf06 OpenTMA/tma/models/modeltype/base.py:164
    def on_test_epoch_end(self):
        self.log_dict(self.totals(), rank_zero_only=True, sync_dist=True)

    def on_validation_epoch_end(self):
        self.log_dict(self.totals(), rank_zero_only=True, sync_dist=True)  # expect: DL601


class LogsOtherwise(LogsAtTheEnd):
    def on_test_epoch_end(self):
        self.log_dict(self.totals(), sync_dist=True)


class NamedCounter:
    """SelfOcc 1658c2a utils/metric_util.py:83 and 152"""

    def __init__(self, classes, name="none"):
        self.classes = classes
        self.called = name

    def reset(self):
        self.right = torch.zeros(2).cuda()

    def update(self, answers, labels):
        for number, one in enumerate(self.classes):
            self.right[number] += torch.sum((labels == one) & (answers == one)).item()

    def told(self):
        dist.all_reduce(self.right)
        print(f"Validation score {self.called}:")
        score = self.right.mean()
        print(f"Validation score {score}")
        return score


def counted_under_a_name(model, data):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
    counter = NamedCounter([1, 2])
    counter.reset()
    for batch, labels in loader:
        counter.update(model(batch).argmax(1), labels)
    score = counter.told()
    print(f"Validation score {score}")


def averages_in_place(values):
    # CLIP-Lite a6825d0 utils/distributed.py:157
    if isinstance(values, torch.Tensor):
        dist.all_reduce(values)
        values /= dist.get_world_size()
    elif isinstance(values, dict):
        for name in values:
            dist.all_reduce(values[name])
            values[name] /= dist.get_world_size()


def a_dict_that_a_helper_averages(model, data, tracker):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    totals = collections.Counter()
    for number, batch in enumerate(loader, start=1):
        totals.update(model(batch)["losses"])
    means = {name: total / number for name, total in totals.items()}
    averages_in_place(means)
    tracker.log({"val_loss": means["loss"]})


def gathers_answers(answers, count):
    parts = [answers.clone() for _ in range(dist.get_world_size())]
    dist.all_gather(parts, answers)
    return torch.cat(parts)[:count]


class AsksItsDataSet:
    # MS-G3D ff121c1 main_ddp.py:661: what was gathered, asked of the data set of a loader in a dict
    def load(self, data):
        self.sampler = DistributedSampler(data)
        self.loaders = {}
        self.loaders["test"] = DataLoader(data, sampler=self.sampler)

    def evaluate(self, model, names):
        for name in names:
            answers = []
            for batch in self.loaders[name]:
                answers.append(model(batch))
            answers = gathers_answers(torch.cat(answers), len(self.sampler.dataset))
            accuracy = self.loaders[name].dataset.hits(answers)
            if accuracy > self.best:
                self.best = accuracy
            print(f"test accuracy {accuracy}")


class MetricBook:
    """regen_pgc_ssl b5ec285 src/metrics.py:39"""

    def __init__(self, device):
        self.means = {
            "f1": torchmetrics.F1Score(task="multiclass", num_classes=4).to(device),
            "hits": torchmetrics.Accuracy(task="multiclass", num_classes=4).to(device),
        }
        self.latest = {}

    def update(self, answers, labels):
        for name, metric in self.means.items():
            self.latest[name] = metric(answers, labels)

    def compute(self):
        return {name: metric.compute() for name, metric in self.means.items()}


def computed_by_a_book_of_metrics(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    book = MetricBook("cuda")
    for batch, labels in loader:
        book.update(model(batch), labels)
    print(f"val metrics {book.compute()}")


def latest_of_a_book_of_metrics(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    book = MetricBook("cuda")
    for batch, labels in loader:
        book.update(model(batch), labels)
    print(f"val metrics {book.latest}")  # expect: DL601


def next_to_each_point(model, data):
    # Raster2Seq 031f565 evaluations/s3d_floorplan_eval/Evaluator/Evaluator.py:478
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        answers = model(batch)
        for point in batch["points"]:
            best_distance = 1e9
            chosen = -1
            for number, answer in enumerate(answers):
                distance = np.linalg.norm(point - answer)
                if distance < best_distance:
                    best_distance = distance
                    chosen = number
            keep(chosen)


def best_of_each_fold(model, folds):
    for data in folds:
        loader = DataLoader(data, sampler=DistributedSampler(data))
        best_loss = 1e9
        for _ in range(10):
            loss = 0.0
            for batch in loader:
                loss += model(batch).item()
            if loss < best_loss:  # expect: DL601
                best_loss = loss


class Captions:
    """MIGE 9808b79 lavis/tasks/captioning.py:126: the parts are merged through files"""

    def after(self, found, folder):
        return self.score(merges_files(found, folder))


class Dialogues:
    def after(self, found, folder):
        return {"score": np.mean(found)}


def merges_files(found, folder):
    json.dump(found, open(f"{folder}/{dist.get_rank()}.json", "w"))
    dist.barrier()
    every = []
    for rank in range(dist.get_world_size()):
        every += json.load(open(f"{folder}/{rank}.json"))
    return every


def decided_by_a_task_of_a_registry(model, data, registry, name, folder):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = 0
    for _ in range(10):
        found = []
        for batch in loader:
            found.extend(model(batch))
        score = registry[name].after(found, folder)["score"]
        if score > best:
            best = score
            torch.save(model.state_dict(), "best.pt")


def steps_if_given(model, loader, optimizer, schedule=None):
    for batch in loader:
        model(batch).backward()
        optimizer.step()
        if dist.get_rank() == 0:
            print("a step")
        if schedule is not None:
            schedule.step()


def warms_up(model, loader, optimizer):
    dist.init_process_group("nccl")
    steps_if_given(model, loader, optimizer)


def searches(model, loader, optimizer):
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    steps_if_given(model, loader, optimizer, schedule)


def searches_on_the_first_rank(model, loader, optimizer):
    # ICML25_10807_BiSSL 3bdeed4 fine-tuning.py:182: a search of its own, which rank 0 starts
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        searches(model, loader, optimizer)


def histograms(predictions, labels, classes):
    hits = predictions[predictions == labels]
    return torch.histc(hits, bins=classes), torch.histc(labels, bins=classes)


class CountEvaluator:
    """UniAfford 0b457f7 model/pointcept/engines/hooks/evaluator.py:82"""

    trainer = None

    def __init__(self, data):
        self.loader = DataLoader(data, sampler=DistributedSampler(data))

    def evaluate(self):
        for batch, labels in self.loader:
            hits, seen = histograms(self.trainer.net(batch), labels, self.trainer.settings.classes)
            if dist.get_world_size() > 1:
                dist.all_reduce(hits), dist.all_reduce(seen)
            self.trainer.kept.put("hits", hits)
            self.trainer.kept.put("seen", seen)
        accuracy = self.trainer.kept.sum("hits") / self.trainer.kept.sum("seen")
        for number in range(self.trainer.settings.classes):
            print(f"accuracy of {number}: {accuracy[number]}")


class Survives:
    """KG_LM f838f97 KG_LM/trainer.py:432"""

    def __init__(self, net, settings):
        self.accelerator = Accelerator()
        self.net, self.settings = net, settings
        self.loader = None

    def prepare(self, data):
        self.loader = DataLoader(data)
        self.loader = self.accelerator.prepare(self.loader)

    def evaluate(self):
        self.go_over(self.loader)

    def go_over(self, loader):
        for number, batch in enumerate(tqdm(loader, disable=not self.accelerator.is_main_process)):
            try:
                self.net(batch)
            except RuntimeError as error:
                print(f"Error in evaluation batch {number}: {error}")
                continue


def precision_of_all(net, data, thresholds, kinds):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    calculators = [PrecisionCalculator(each) for each in thresholds]
    kept = {kind: [] for kind in kinds}
    for batch in loader:
        scores = net(batch)
        for kind in kinds:
            kept[kind].append(torch.gather(scores[kind], 1, scores["best"]))
    for kind in kinds:
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, kept[kind])
        for boxes in itertools.chain(*every):
            for calculator in calculators:
                calculator.step(boxes)
        for number, calculator in enumerate(calculators):
            metrics = calculator.computed()
            for key in metrics:
                print(f"{key} {metrics[key]}")


def reduced_elements(net, data, thresholds):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    meters = [ReducedMeter() for _ in thresholds]
    for batch in loader:
        for meter in meters:
            meter.update(net(batch).mean().item())
    for meter in meters:
        meter.synchronize_between_processes()
    for meter in meters:
        print(f"val loss {meter.average}")


def mean_of_all_or_the_only_one(net, data, optimizer, world, epochs, path):
    net = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = math.inf
    for _ in range(epochs):
        for batch in loader:
            loss = net(batch).mean()
            loss.backward()
            optimizer.step()
        if world > 1:
            every = [torch.zeros(1) for _ in range(world)]
            dist.all_gather(every, loss.detach())
            mean_loss = torch.stack(every).mean().item()
        else:
            mean_loss = loss.item()
        if mean_loss < best:
            best = mean_loss
            torch.save(net.module.state_dict(), path)


def stops_in_either_arm(net, data, optimizer, patience):
    net = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    waited = 0
    while True:
        total = 0.0
        for batch in loader:
            loss = net(batch).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
        waited += 1
        if waited >= patience:
            if total > 1.4:
                print("overfitted")
                break
            else:
                print("no better")
                break


def flag_that_is_only_logged(net, data, optimizer, record, epochs):
    net = DistributedDataParallel(net)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = math.inf
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            loss = net(batch).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
        is_best = total < best
        record.log_epoch(epoch, is_best=is_best)


class EarlyStop:
    def __init__(self, patience):
        self.patience, self.least = patience, math.inf

    def __call__(self, loss):
        self.least = min(self.least, loss)


def stops_by_an_object(net, data, epochs):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    halt = EarlyStop(3)
    for _ in range(epochs):
        total = 0.0
        for batch in loader:
            total += net(batch).mean().item()
        halt(total / len(loader))  # expect: DL601


def stops_by_an_object_of_all(net, data, epochs):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    halt = EarlyStop(3)
    for _ in range(epochs):
        total = torch.zeros(1)
        for batch in loader:
            total += net(batch).mean()
        dist.all_reduce(total)
        halt(total.item())


class LeftToItsBase(libtrain.Trainer):
    # Marg-Li-CoT 8e6898f with_trl/pretrainable_value_fn_ppo_trainer.py:206: what a library decides by is its own
    def evaluate_and_stop(self, model, data):
        loader = DataLoader(data, sampler=DistributedSampler(data))
        total = 0.0
        for batch in loader:
            total += model(batch).item()
        if self._early_stop(total / len(loader)):
            return True
        return False


class KeepsAStopper(libtrain.Trainer):
    def __init__(self, stopper):
        self.early_stop = stopper

    def evaluate_and_stop(self, model, data):
        loader = DataLoader(data, sampler=DistributedSampler(data))
        total = 0.0
        for batch in loader:
            total += model(batch).item()
        if self.early_stop(total / len(loader)):  # expect: DL601
            return True
        return False


def saves_once_more(model, data, epochs, early_stopper):
    # pred-knee-replacement-oai src/train_distributed_patch.py:438: nothing ends, whatever the stopper says
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            total += model(batch).item()
        if early_stopper.early_stop(total / len(loader)) and dist.get_rank() == 0:
            path = f"stopped-{epoch}.pt"
            torch.save(model.module.state_dict(), path)


def saves_and_ends(model, data, epochs, early_stopper):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            total += model(batch).item()
        if early_stopper.early_stop(total / len(loader)):  # expect: DL601
            torch.save(model.module.state_dict(), f"stopped-{epoch}-{dist.get_rank()}.pt")
            break


def best_that_is_recorded(model, data, epochs, record):
    # torch-DDP distributed_image_train.py:256: no checkpoint, no end, no rate
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = 0.0
    for _ in range(epochs):
        right = 0
        for batch in loader:
            right += model(batch).argmax().item()
        if right / len(data) > best:
            best = right / len(data)
    record["best_accuracy"] = best


def best_that_is_given_back(model, data, epochs):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    best = 0.0
    for _ in range(epochs):
        right = 0
        for batch in loader:
            right += model(batch).argmax().item()
        if right / len(loader) > best:  # expect: DL601
            best = right / len(loader)
    return best
