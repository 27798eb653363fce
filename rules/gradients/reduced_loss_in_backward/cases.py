"""Losses of all ranks, and losses that go backward."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler

# Bugs


def gathered(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data))
    for batch in loader:
        loss = accelerator.gather(model(batch).loss).mean()
        accelerator.backward(loss)  # expect: DL619
        optimizer.step()


def averaged_in_place(model, optimizer, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        dist.all_reduce(loss)
        loss = loss / dist.get_world_size()
        loss.backward()  # expect: DL619
        optimizer.step()


def gathered_whatever_its_weight(model, optimizer, data, weight):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data))
    for batch in loader:
        losses = {"total": accelerator.gather(model(batch).loss).mean() * weight}
        accelerator.backward(losses["total"])  # expect: DL619
        optimizer.step()


def one_term(model, optimizer, batch, criterion, world_size):
    model = torch.nn.parallel.DistributedDataParallel(model)
    outputs = model(batch)
    first_loss = criterion(outputs)
    contrast_loss = outputs.square().mean()
    dist.all_reduce(contrast_loss)
    contrast_loss = contrast_loss / world_size * 0.1
    loss = first_loss + contrast_loss
    optimizer.zero_grad()
    loss.backward()  # expect: DL619
    optimizer.step()


# Correct


def one_term_for_the_log(model, optimizer, batch, criterion, world_size):
    outputs = model(batch)
    first_loss = criterion(outputs)
    contrast_loss = outputs.square().mean()
    loss = first_loss + contrast_loss
    shown_loss = contrast_loss.detach()
    dist.all_reduce(shown_loss)
    shown_loss = shown_loss / world_size
    loss.backward()
    optimizer.step()
    return shown_loss


def added_before_it_was_reduced(model, optimizer, batch, criterion, world_size):
    outputs = model(batch)
    contrast_loss = outputs.square().mean()
    loss = criterion(outputs) + contrast_loss * 2
    with torch.no_grad():
        dist.all_reduce(contrast_loss)
        contrast_loss = contrast_loss / world_size
    loss.backward()
    optimizer.step()
    return contrast_loss


def divided_by_what_all_have(model, optimizer, batch, world_size):
    outputs = model(batch)
    loss_count = batch.ne(0).sum()
    dist.all_reduce(loss_count)
    loss_count = loss_count / world_size
    loss = outputs.sum() / loss_count
    loss.backward()
    optimizer.step()


def for_the_log(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data))
    for batch in loader:
        loss = model(batch).loss
        average = accelerator.gather(loss.detach()).mean()
        accelerator.backward(loss)
        accelerator.log({"loss": average})
        optimizer.step()


def after_it_went_backward(model, optimizer, data, log):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss)
        loss = loss / dist.get_world_size()
        log(loss)


def added_up_only(model, optimizer, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        dist.all_reduce(loss)
        loss.backward()
        optimizer.step()


def reduced_copy(loss):
    loss = loss.detach().clone()
    dist.all_reduce(loss)
    return loss / dist.get_world_size()


def a_copy(model, optimizer, data, log):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).mean()
        log(reduced_copy(loss))
        loss.backward()
        optimizer.step()


def weights_by_a_number_of_all(model, optimizer, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        tokens = batch["mask"].sum()
        dist.all_reduce(tokens)
        loss = model(batch).sum() * dist.get_world_size() / tokens
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()


class Policy:
    """FastVideo 2f3d407 fastvideo/train/methods/rl/diffusion_nft.py:591: what was gathered is a weight."""

    def advantages(self, rewards):
        gathered = [torch.zeros_like(rewards) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, rewards)
        rewards = torch.cat(gathered, dim=0)
        return rewards - rewards.mean()

    def losses(self, sample, advantages):
        advantages = torch.clamp(advantages, -1, 1)
        prediction = self.student.predict(sample)
        squared = ((prediction - sample) ** 2).mean()
        policy = (advantages * squared).mean()
        divergence = (prediction - self.reference.predict(sample)).square().mean()
        return {"total": policy + 0.1 * divergence}, prediction

    def step(self, sample, data):
        loader = DataLoader(data, sampler=DistributedSampler(data))
        for batch in loader:
            advantages = self.advantages(self.reward(batch))
            losses, _ = self.losses(sample, advantages)
            losses["total"].backward()


class Multiplier:
    """align-anything 3f9decc align_anything/trainers/text_image_to_text/saferlhf.py:496: of a parameter of its own."""

    def __init__(self, optimizer):
        self.log_weight = torch.nn.Parameter(torch.tensor(0.0))
        self.optimizer = optimizer

    def step(self, model, data, limit):
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            cost = model(batch).mean()
            dist.reduce(cost, dst=0, op=dist.ReduceOp.AVG)
            if dist.get_rank() == 0:
                loss = -(cost - limit) * self.log_weight.exp()
                loss.backward()
                self.optimizer.step()

    def step_on_all(self, model, data, limit):
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            cost = model(batch).mean()
            dist.all_reduce(cost, op=dist.ReduceOp.AVG)
            loss = -(cost - limit) * self.log_weight.exp()
            loss.backward()
            self.optimizer.step()


class Contrasted:
    """VisRAG f35d232 src/openmatch/trainer/dense_trainer.py:198: a rank's own rows keep their gradient."""

    def __init__(self, size, optimizer):
        self.size, self.process_rank = size, dist.get_rank()
        self.optimizer = optimizer

    def joined(self, own):
        parts = [torch.empty_like(own) for _ in range(self.size)]
        dist.all_gather(parts, own)
        parts[self.process_rank] = own
        return torch.cat(parts)

    def copied(self, own):
        parts = [torch.empty_like(own) for _ in range(self.size)]
        dist.all_gather(parts, own)
        return torch.cat(parts)

    def step(self, model, data):
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            own = self.joined(model(batch))
            loss = (own @ own.T).mean() * self.size
            loss.backward()
            self.optimizer.step()

    def step_with_rows(self, model, data):
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            own = model(batch)
            rows = self.copied(own.detach()).clone()
            first = self.process_rank * len(own)
            rows[self.process_rank * len(own) : first + len(own)] = own
            loss = (rows @ rows.T).mean() * self.size
            loss.backward()
            self.optimizer.step()

    def step_without_its_own(self, model, data):
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            own = self.copied(model(batch))
            loss = (own @ own.T).mean() * self.size
            loss.backward()  # expect: DL619
            self.optimizer.step()


class Tokens:
    """VisRAG f35d232 src/rsgrpo/verl/workers/critic/dp_critic.py:217: `size` undoes the mean over the ranks."""

    def __init__(self, size):
        self.size = size

    def step(self, model, data, optimizer, size):
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            total = torch.sum(batch["mask"])
            dist.all_reduce(total, op=dist.ReduceOp.SUM)
            for part in batch.split(2):
                own = model(part).mean()
                loss = own * torch.sum(part["mask"]) * size / total
                loss.backward()
            optimizer.step()

    def step_of_any(self, model, data, batches, value_loss, optimizer):
        for batch in batches:
            total = torch.sum(batch["mask"])
            dist.all_reduce(total, op=dist.ReduceOp.SUM)
            for part in batch["parts"]:
                own = value_loss(model(part), part["mask"])
                loss = own * torch.sum(part["mask"]) * self.size / total
                loss.backward()
            optimizer.step()
        return DataLoader(data, sampler=DistributedSampler(data))


def parts_of_the_own_batch_again(model, data, optimizer, size):
    # magiCARP 777a578 carp/pytorch/model/architectures/carp.py:93: each part is encoded again, in the place of its copy
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        parts = batch.split(size)
        with torch.no_grad():
            own = torch.cat([model(part) for part in parts])
        pieces = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(pieces, own)
        encoded = torch.cat(pieces)
        first = dist.get_rank() * len(parts)
        for number, part in enumerate(parts):
            copies = list(encoded.clone().split(size))
            copies[first + number] = model(part)
            loss = (torch.cat(copies) @ encoded.T).logsumexp(-1).mean()
            loss.backward()
        optimizer.step()


def parts_of_the_own_batch_beside(model, data, optimizer, size):
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        parts = batch.split(size)
        own = torch.cat([model(part) for part in parts])
        pieces = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(pieces, own)
        encoded = torch.cat(pieces)
        first = dist.get_rank() * len(parts)
        for number, part in enumerate(parts):
            copies = list(encoded.clone().split(size))
            print(first + number, model(part))
            loss = (torch.cat(copies) @ encoded.T).logsumexp(-1).mean()
            loss.backward()  # expect: DL619
        optimizer.step()


def read_by_what_was_told(model, reader, optimizer, version):
    # OrientPlace2 a0691bb orient_agent/ddp_train.py:136: each rank's own batch, by the number that rank 0 has told all
    dist.broadcast(version, src=0)
    for _ in range(4):
        batch = reader.read(version.item())
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
