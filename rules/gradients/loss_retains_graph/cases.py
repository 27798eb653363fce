"""Running totals of losses."""

import horovod.torch as hvd
import torch
import torch.distributed as dist

# Bugs


def over_an_epoch(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total += loss  # expect: DL607
    return total / len(loader)


def into_a_tensor(model, optimizer, loader, rank):
    totals = torch.zeros(2, device=rank)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        totals[0] += loss  # expect: DL607
        totals[1] += len(batch)
    dist.all_reduce(totals)
    return totals


def written_out(model, optimizer, loader, scaler):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        total = total + loss  # expect: DL607
    return total


def until_it_is_logged(model, optimizer, loader, every):
    running = 0.0
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        running += loss  # expect: DL607
        if step % every == 0:
            print(running / every)
            running = 0.0


class Step:
    def __init__(self, model):
        self.model = model
        self.total = 0.0
        self.terms = {"a": 0.0}

    def take(self, batch):
        a, b = self.model(batch)
        (a + b).backward()
        self.terms["a"] += a  # expect: DL607
        return b


def weighted(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total += loss * batch.size(0)  # expect: DL607
    return total


def in_each_precision(model, optimizer, loader, scaler, half, every):
    total = 0.0
    for batch in loader:
        if half:
            loss = model(batch).mean()
            scaler.scale(loss).backward()
        else:
            loss = model(batch).float().mean()
            if every > 1:
                loss = loss / every
            loss.backward()
        optimizer.step()
        total += loss  # expect: DL607
    return total


def averaged(value, name):
    return hvd.allreduce(value, name=name)


def reduced_with_its_graph(model, optimizer, loader):
    total = torch.zeros(1)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total = total + averaged(loss, "loss") / 2  # expect: DL607
    return total


# Correct


class BegunInEachStep:
    def __init__(self, model):
        self.model = model
        self.total = 0.0

    def begin(self):
        self.total = 0.0

    def take(self, batch):
        loss = self.model(batch)
        loss.backward()
        self.total += loss


class Sent:
    def __init__(self, model):
        self.model = model
        self.total = 0.0

    def take(self, batch):
        loss = self.model(batch)
        self.total += loss
        self.total.backward()


def detached(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total


def a_number(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def reduced_before(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        loss = loss.detach()
        dist.all_reduce(loss)
        total += loss
    return total


def sent_backward_together(model, optimizer, loader, parts):
    for batch in loader:
        total = 0.0
        for part in parts:
            loss = model(batch, part).mean()
            total += loss
        total.backward()
        optimizer.step()


def begun_in_each_round(model, optimizer, loader):
    for batch in loader:
        loss = model(batch).mean()
        penalty = model.penalty()
        total = loss.detach()
        loss.backward()
        total += loss
        optimizer.step()
        print(total, penalty)


def in_evaluation(model, loader):
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            loss = model(batch).mean()
            total += loss
    return total


def added_without_gradients(model, optimizer, loader):
    total = torch.zeros(())
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            total += loss
    return total


def begun_at_each_step(model, optimizer, loader):
    for batch in loader:
        total = 0.0
        loss = model(batch).mean()
        loss.backward()
        total += loss
        optimizer.step()
        print(total.item())


def weighted_number(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total += loss.item() * batch.size(0)
    return total


def as_number(value):
    return hvd.allreduce(value.detach(), name="loss").item()


def reduced_as_number(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total += as_number(loss)
    return total


def reduced_in_place(model, optimizer, loader):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        total += mean / dist.get_world_size()
    return total


def something_else(model, optimizer, loader, weight):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        total += weight * len(batch)
    return total


def let_go_in_each_precision(model, optimizer, loader, scaler, half):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        if half:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        optimizer.step()
        loss = loss.detach() / len(batch)
        total += loss
    return total


def numbers_of_a_meter(model, loader, meter, optimizer):
    # habitat-lab 0fb6f43 habitat-baselines/habitat_baselines/il/trainers/pacman_trainer.py:288
    total_plan, total_move = 0.0, 0.0
    for batch in loader:
        plan, move = model(batch)
        meter.update([plan.item(), move.item()])
        (plan + move).backward()
        optimizer.step()
        plan, move = meter.means()
        total_plan += plan
        total_move += move
    return total_plan, total_move


def numbers_of_a_meter_beside(model, loader, meter, optimizer):
    total_plan = 0.0
    for batch in loader:
        plan, move = model(batch)
        meter.update([plan.item(), move.item()])
        (plan + move).backward()
        optimizer.step()
        mean_plan, mean_move = meter.means()
        print(mean_plan, mean_move)
        total_plan += plan  # expect: DL607
    return total_plan
