"""Models in training and evaluation mode, and the ranks that set it."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def samples_on_rank_0(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()  # expect: DL209
            sample(model.module)
            model.train()


def through_the_model_inside(model, loader, optimizer, sample):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        accelerator.backward(loss)
        optimizer.step()
        if accelerator.is_main_process and step % 100 == 0:
            inner = accelerator.unwrap_model(model)
            inner.eval()  # expect: DL209
            with torch.no_grad():
                sample(inner)
            inner.train()


def scores(model, batches):
    model.eval()
    with torch.no_grad():
        return [model(batch) for batch in batches]


def in_a_function_of_its_own(model, loader, held_out, optimizer):
    model = DDP(model)
    for epoch in range(3):
        model.train()
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
            if dist.get_rank() == 0 and epoch % 2 == 0:
                found = scores(model.module, held_out)  # expect: DL209
                print(found)
                model.module.train()


class KeepsItsModel:
    def __init__(self, model):
        self.model = DDP(model)

    def fit(self, loader, optimizer):
        for batch in loader:
            loss = self.model(batch).mean()
            loss.backward()
            optimizer.step()
            if dist.get_rank() == 0:
                self.look(batch)  # expect: DL209
                self.model.train()

    def look(self, batch):
        self.model.eval()
        print(self.model.module(batch).mean())


def functions_beside_each_other(net, loader, optimizer):
    model = DDP(net)

    def look(batch):
        model.eval()
        print(model.module(batch).mean())

    def fit():
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            if dist.get_rank() == 0:
                look(batch)  # expect: DL209
                model.train()

    fit()


# Correct


class PutsItBack:
    def __init__(self, model):
        self.model = DDP(model)

    def fit(self, loader, optimizer):
        for batch in loader:
            loss = self.model(batch).mean()
            loss.backward()
            optimizer.step()
            if dist.get_rank() == 0:
                self.look(batch)

    def look(self, batch):
        self.model.eval()
        print(self.model.module(batch).mean())
        self.model.train()


def functions_with_models_of_their_own(net, loader, optimizer, other):
    model = DDP(net)

    def look(batch):
        model = other
        model.eval()
        print(model(batch).mean())

    def fit():
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            if dist.get_rank() == 0:
                look(batch)

    fit()


def in_a_function_at_the_end(model, loader, held_out, optimizer, last):
    model = DDP(model)
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        optimizer.step()
        if dist.get_rank() == 0 and step == last:
            print(scores(model.module, held_out))
            return


def in_a_function_between_rounds(model, loader, held_out, optimizer):
    model = DDP(model)
    for _ in range(3):
        model.train()
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(scores(model.module, held_out))


def scores_and_goes_back(model, batches):
    model.eval()
    found = [model(batch) for batch in batches]
    model.train()
    return found


def in_a_function_that_goes_back(model, loader, held_out, optimizer):
    model = DDP(model)
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
        if dist.get_rank() == 0:
            print(scores_and_goes_back(model.module, held_out))


def goes_back(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()
            sample(model.module)
            model.train()


def at_the_start_of_each_round(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        model.train()
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()
            sample(model.module)


def set_mode(model, training):
    model.train(training)


def in_a_helper(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        set_mode(model, True)
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            model.eval()
            sample(model.module)


def on_all_ranks(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        model.eval()
        sample(model.module)


def of_the_average(model, average, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            average.eval()
            sample(average)


def when_the_training_is_done(model, loader, optimizer, sample):
    model = DDP(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        model.eval()
        sample(model.module)


def judged_by_both(net, decoder, teacher, batches):
    net.eval()
    decoder.eval()
    teacher.eval()
    return sum(decoder(net(batch)).sum() for batch in batches)


def trains_two(net, decoder, teacher, batches, optimizer):
    # HEIST cf96c6c main_ddp.py:211: both come back
    for batch in batches:
        hidden = net(batch)
        loss = decoder(hidden).sum() - teacher.hidden(batch)
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            print(judged_by_both(net, decoder, teacher, batches))  # expect: DL209
            net.train()
            decoder.train()
