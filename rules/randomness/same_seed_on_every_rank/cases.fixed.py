"""One seed on all ranks, with and without noise that must differ."""

import os
import random
import time
from dataclasses import dataclass

import numpy as np
import timm.utils
import torch
import torch.distributed as dist
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from distlint.runtime import decorrelate
from timm.utils import NativeScaler
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler
from torchvision import transforms


def fix_seeds(seed):
    random.seed(seed)
    torch.manual_seed(seed)


# Bugs


def diffusion(args, model, optimizer, loader):
    accelerator = Accelerator()
    if args.seed is not None:
        set_seed(args.seed)  # expect: DL401
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if args.seed is not None:
        decorrelate(args.seed)
    for batch in loader:
        noise = torch.randn_like(batch)
        loss = F.mse_loss(model(batch + noise), noise)
        accelerator.backward(loss)
        optimizer.step()


def indices(data, model, optimizer, device):
    torch.manual_seed(1337)  # expect: DL401
    model = DDP(model)
    decorrelate(1337)
    for _ in range(100):
        rows = torch.randint(len(data), (8,))
        loss = model(data[rows]).sum()
        loss.backward()
        optimizer.step()


def draw_noise(batch):
    return batch + torch.empty_like(batch).uniform_(-1, 1)


def through_functions(args, model, optimizer, loader):
    fix_seeds(args.seed)  # expect: DL401
    model = DDP(model)
    decorrelate(args.seed)
    # one epoch only
    run_epoch(model, optimizer, loader)


def run_epoch(model, optimizer, loader):
    for batch in loader:
        loss = model(draw_noise(batch)).sum()
        loss.backward()
        optimizer.step()


class Masking(torch.nn.Module):
    def forward(self, batch):
        return batch * (torch.rand(batch.shape) > 0.5)


class Scaler:
    def __call__(self, loss, optimizer):
        loss.backward()
        optimizer.step()


def masked_in_the_model(args, optimizer, loader):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(Masking())
    decorrelate(args.seed)
    scaler = Scaler()
    for batch in loader:
        scaler(model(batch).sum(), optimizer)


class Tokens(torch.utils.data.Dataset):
    # UniVL 8db88f3 dataloaders/dataloader_howto100m.py:356: a number for each token, of which samples have more or fewer.
    def __init__(self, texts):
        self.texts = texts

    def __getitem__(self, index):
        hidden = random.random() < 0.15
        return hidden, self._masked(self.texts[index])

    def _masked(self, tokens):
        return [token if random.random() < 0.85 else 0 for token in tokens]


class Clips(torch.utils.data.Dataset):
    # UniVTG 32659ac main/dataset.py:230: one of the clips that a sample has.
    def __init__(self, videos):
        self.videos = videos

    def __getitem__(self, index):
        clips = {}
        clips["positive"] = self.videos[index].positive
        return random.choice(clips["positive"])


class Flips(torch.utils.data.Dataset):
    def __init__(self, pictures, angles):
        self.pictures = pictures
        self.angles = angles

    def __getitem__(self, index):
        return self.pictures[index].rotate(random.choice(self.angles))


def tokens_of_different_numbers(args, model, optimizer, texts):
    torch.manual_seed(args.seed)
    model = DDP(model)
    for batch in DataLoader(Tokens(texts)):
        model(batch).sum().backward()
        optimizer.step()


def clips_of_their_own(args, model, optimizer, videos):
    torch.manual_seed(args.seed)
    model = DDP(model)
    for batch in DataLoader(Clips(videos)):
        model(batch).sum().backward()
        optimizer.step()


def angles_in_step(args, model, optimizer, pictures):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(model)
    decorrelate(args.seed)
    for batch in DataLoader(Flips(pictures, (0, 90, 180))):
        model(batch).sum().backward()
        optimizer.step()


def with_the_rank_of_timm(args, model, optimizer, loader):
    # efficientdet-pytorch c6dff77 train.py:288: `init_distributed_device` has set the rank.
    args.rank = 0
    timm.utils.init_distributed_device(args)
    timm.utils.random_seed(args.seed, args.rank)
    model = DDP(model)
    for batch in loader:
        model(batch * torch.rand_like(batch)).sum().backward()
        optimizer.step()


def with_the_seed_of_timm(args, model, optimizer, loader):
    timm.utils.random_seed(args.seed)  # expect: DL401
    model = DDP(model)
    decorrelate(args.seed)
    for batch in loader:
        model(batch * torch.rand_like(batch)).sum().backward()
        optimizer.step()


def augmentations():
    return transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])


def crops(args, model, optimizer, make_dataset):
    torch.manual_seed(args.seed)  # expect: DL401
    loader = DataLoader(make_dataset(augmentations()))
    model = DDP(model)
    decorrelate(args.seed)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


def crops_of_what_a_test_wraps(args, model, optimizer, make_dataset):
    # facebookresearch/deit 7e160fe main.py:345
    seed = args.seed
    torch.manual_seed(seed)  # expect: DL401
    loader = DataLoader(make_dataset(augmentations()))
    model_without_ddp = model
    if args.distributed:
        model = DDP(model)
        model_without_ddp = model.module
    decorrelate(seed)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
    return model_without_ddp


def scaled_by_timm(args, model, optimizer, make_dataset):
    torch.manual_seed(args.seed)  # expect: DL401
    loader = DataLoader(make_dataset(augmentations()))
    model, loss_scaler = DDP(model), NativeScaler()
    decorrelate(args.seed)
    for batch in loader:
        loss_scaler(model(batch).sum(), optimizer)


class Trainer:
    def __init__(self, args, model, optimizer, loader):
        self.accelerator = Accelerator()
        self.args, self.model, self.optimizer, self.loader = args, model, optimizer, loader
        self.start()
        self.prepare()

    def start(self):
        set_seed(self.args.seed)  # expect: DL401

    def prepare(self):
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)

    def fit(self):
        for batch in self.loader:
            self.accelerator.backward(self.compute_loss(batch))
            self.optimizer.step()

    def compute_loss(self, batch):
        raise NotImplementedError


class Denoiser(Trainer):
    def compute_loss(self, batch):
        steps = torch.randint(1000, (len(batch),))
        return self.model(batch, steps).mean()


def samples(args, net, folder):
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)  # expect: DL401
    turns = range(args.count // world_size)
    for turn in turns:
        image = net(torch.randn(1, 3, 64, 64))
        torch.save(image, f"{folder}/{turn * world_size + rank:06d}.pt")


class Sampler:
    def generate(self, count):
        return torch.multinomial(torch.ones(1000), count)


def gathered_samples(sampler, count):
    dist.init_process_group("nccl")
    torch.manual_seed(0)  # expect: DL401
    kept = []
    while len(kept) < count:
        parts = [torch.empty(8) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, sampler.generate(8))
        kept += parts
    return kept


class Speckle(torch.nn.Module):
    def forward(self, batch):
        return batch + torch.randn_like(batch)


class Plainly(torch.nn.Module):
    def forward(self, batch):
        return batch


AUGMENTATIONS = {"speckle": Speckle, "plain": Plainly}


def augmentation(name="speckle"):
    return AUGMENTATIONS[name]()


def chosen_by_a_default(args, model, loader):
    torch.manual_seed(args.seed)  # expect: DL401
    augment = augmentation()
    model = DDP(model)
    decorrelate(args.seed)
    for batch in loader:
        model(augment(batch)).sum().backward()


def set_seed_if_any(seed=None):
    if seed is not None:
        torch.manual_seed(seed)


def seeded_where_asked(args, model, loader):
    set_seed_if_any(args.seed)  # expect: DL401
    model = DDP(model)
    if args.seed is not None:
        decorrelate(args.seed)
    for batch in loader:
        model(batch + torch.randn_like(batch)).sum().backward()


class Solver:
    def __init__(self, args, model, loader):
        self.model, self.loader = DDP(model), loader
        self.augment = torch.nn.Sequential(Speckle())

    def fit(self):
        for batch in self.loader:
            self.model(self.augment(batch)).sum().backward()


def solver_given_back(args, model, loader):
    # demucs e976d93 demucs/train.py:151: who gets the solver has it train.
    torch.manual_seed(args.seed)  # expect: DL401
    return Solver(args, model, loader)


def pictures(model, path):
    torch.seed()
    torch.save(model(torch.randn(8)), path)


def pictures_between(model, path):
    state = torch.get_rng_state()
    pictures(model, path)
    torch.set_rng_state(state)


def one_of_its_own_where_none_is_given(args, model, loader):
    # sd-scripts train_network.py:503; library/train_util.py:6526 seeds for a picture, and goes back.
    accelerator = Accelerator()
    if args.seed is None:
        args.seed = random.randint(0, 2**32)
    set_seed(args.seed)  # expect: DL401
    model, loader = accelerator.prepare(model, loader)
    decorrelate(args.seed)
    for batch in loader:
        accelerator.backward(model(batch + torch.randn_like(batch)).sum())
        pictures_between(model, args.path)


class Noisy(torch.nn.Module):
    def forward(self, batch, infer=False):
        if infer:
            return torch.randn(4)
        return batch + torch.randn_like(batch)


class Runner:
    def __init__(self, args):
        self.accelerator = Accelerator()
        set_seed(args.seed)  # expect: DL401
        self.net = self.accelerator.prepare(self.build())
        decorrelate(args.seed)

    def build(self):
        raise NotImplementedError

    def fit(self, loader):
        for batch in loader:
            self.accelerator.backward(self.net(batch))


class NoisyRunner(Runner):
    def build(self):
        return Noisy()


class InOneOrder(torch.utils.data.Sampler):
    def __iter__(self):
        rows = list(range(100))
        random.shuffle(rows)
        return iter(rows)


def make_sampler():
    return InOneOrder()


def ordered_by_the_common_stream(args, model, optimizer, data):
    # Amphion d3de90f models/base/base_sampler.py:118: no decorrelate() here, the ranks' orders would differ
    accelerator = Accelerator()
    set_seed(args.seed)  # expect: DL401
    loader = DataLoader(data, sampler=make_sampler())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch + torch.randn_like(batch)).sum())
        optimizer.step()


def step_by_step(args, model, optimizer, loader):
    accelerator = Accelerator()
    set_seed(args.seed)  # expect: DL401

    def loss_of(batch):
        noise = torch.randn_like(batch)
        return F.mse_loss(model(batch + noise), noise)

    def step(batch):
        with accelerator.accumulate(model):
            accelerator.backward(loss_of(batch))
            optimizer.step()

    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    decorrelate(args.seed)
    for batch in loader:
        step(batch)


def noise_above_and_in_the_loop(args, model, optimizer):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(model)
    decorrelate(args.seed)
    fixed = [torch.zeros(8) for _ in range(4)]
    for step in range(args.steps):
        for part in fixed:
            loss = model(part + torch.randn(8)).sum()
            loss.backward()
        optimizer.step()


# Correct


def batches_of_no_data(args, model, optimizer):
    # benchmark 0e83c44 torchbenchmark/models/moco/main_moco.py:371
    torch.manual_seed(args.seed)
    model = DDP(model)
    batches = []
    for _ in range(64):
        batches.append(torch.randn(args.batch_size, 8))
    for batch in batches:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()


class Measured:
    # benchmark 0e83c44 torchbenchmark/util/model.py:127: what wraps is another model than what draws
    def __init__(self, seed):
        torch.manual_seed(seed)


class WrappedOne(Measured):
    def __init__(self, seed, model):
        super().__init__(seed)
        self.model = DDP(model)

    def train(self, loader):
        for batch in loader:
            self.model(batch).sum().backward()


class DrawingOne(Measured):
    def __init__(self, seed, model):
        super().__init__(seed)
        self.model = model

    def train(self, loader):
        for batch in loader:
            self.model(batch + torch.randn_like(batch)).sum().backward()


def measures_both(args, model, loader):
    for measured in (WrappedOne(args.seed, model), DrawingOne(args.seed, model)):
        measured.train(loader)


def step_by_step_with_samples(args, model, optimizer, loader):
    accelerator = Accelerator()
    set_seed(args.seed)

    def validate(batch):
        return model(torch.randn_like(batch))

    def step(batch):
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).mean())
            optimizer.step()
        validate(batch)

    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        step(batch)


def chosen_to_draw_nothing(args, model, loader):
    torch.manual_seed(args.seed)
    augment = AUGMENTATIONS["plain"]()
    model = DDP(model)
    for batch in loader:
        model(augment(batch)).sum().backward()


def chosen_by_an_option(args, model, loader):
    torch.manual_seed(args.seed)
    augment = AUGMENTATIONS[args.augmentation]()
    model = DDP(model)
    for batch in loader:
        model(augment(batch)).sum().backward()


class OnOneGpu(Solver):
    def __init__(self, args, model, loader):
        self.model, self.loader = model, loader

    def fit(self):
        for batch in self.loader:
            self.model(batch + torch.randn_like(batch)).sum().backward()


def solver_of_one_process(args, model, loader):
    torch.manual_seed(args.seed)
    return OnOneGpu(args, model, loader)


class Quiet:
    def __init__(self, args, model, loader):
        self.model, self.loader = DDP(model), loader
        self.augment = torch.nn.Sequential(Plainly())

    def fit(self):
        for batch in self.loader:
            self.model(self.augment(batch)).sum().backward()


def solver_that_draws_nothing(args, model, loader):
    torch.manual_seed(args.seed)
    return Quiet(args, model, loader)


def same_noise_for_other_data(args, net, loader, folder):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)
    for number, batch in enumerate(loader):
        image = net(batch + torch.randn_like(batch))
        torch.save(image, f"{folder}/{rank}-{number}.pt")


def one_file_of_all(args, net, path):
    dist.init_process_group("nccl")
    torch.manual_seed(args.seed)
    for _ in range(args.count):
        image = net(torch.randn(1, 3, 64, 64))
        if dist.get_rank() == 0:
            torch.save(image, path)


def without_noise(args, net, folder):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)
    for turn in range(args.count):
        torch.save(net(torch.full((1, 3), turn)), f"{folder}/{turn}-{rank}.pt")


class SeededForSamples:
    def __init__(self, model, optimizer, loader):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.loader = loader

    def sample(self, prompts):
        set_seed(42)
        return [self.accelerator.unwrap_model(self.model).decode(p) for p in prompts]

    def fit(self):
        for batch in self.loader:
            self.accelerator.backward(self.model(batch + torch.randn_like(batch)).mean())
            self.optimizer.step()


class Plain:
    def __init__(self, args, model, optimizer, loader):
        set_seed(args.seed)
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.loader = loader

    def fit(self):
        for batch in self.loader:
            self.accelerator.backward(self.compute_loss(batch))
            self.optimizer.step()

    def compute_loss(self, batch):
        return self.model(batch).mean()

    def sample(self, shape):
        return torch.randn(shape)


class OfItsGenerator(Plain):
    def compute_loss(self, batch):
        return self.model(torch.randn(batch.shape, generator=self.generator)).mean()


class Sampling(torch.nn.Module):
    def forward(self, batch):
        return batch

    def decode(self, code):
        return code + torch.randn_like(code)

    def sample(self, count):
        return self(torch.randn(count))


def drawn_in_samples_only(args, loader):
    torch.manual_seed(args.seed)
    model = DDP(Sampling())
    for batch in loader:
        model(batch).sum().backward()


def same_crop_for_all(args, model, make_dataset):
    torch.manual_seed(args.seed)
    loader = DataLoader(make_dataset(transforms.CenterCrop(224)))
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()


def spawns(args):
    torch.manual_seed(args.seed)
    torch.multiprocessing.spawn(spawned, nprocs=8, args=(args,))


def launches(args):
    # VQ-Diffusion d1d3948 train.py:110: the workers are fresh interpreters, which nobody has seeded.
    torch.manual_seed(args.seed)
    launched(worked, args)


def launched(worker, args):
    if args.gpus > 1:
        torch.multiprocessing.spawn(started, nprocs=args.gpus, args=(worker, args))
    else:
        worker(0, args)


def started(rank, worker, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    worker(rank, args)


def worked(rank, args):
    model = DDP(Masking(), device_ids=[rank])
    for batch in args.loader:
        model(batch).sum().backward()


def spawned(rank, args):
    loader = DataLoader(args.make_dataset(augmentations()))
    model = DDP(args.model, device_ids=[rank])
    for batch in loader:
        model(batch).sum().backward()


def crops_of_one_process(args, model, make_dataset):
    torch.manual_seed(args.seed)
    for batch in DataLoader(make_dataset(augmentations())):
        model(batch).sum().backward()


def evaluation(args, model, loader):
    accelerator = Accelerator()
    set_seed(args.seed)
    model, loader = accelerator.prepare(model, loader)
    return [model(torch.randn_like(batch)) for batch in loader]


def nothing_drawn(args, model, optimizer, loader):
    accelerator = Accelerator()
    set_seed(args.seed)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).sum())


def one_process(args, model, optimizer, loader):
    torch.manual_seed(args.seed)
    for batch in loader:
        model(batch + torch.randn_like(batch)).sum().backward()
        optimizer.step()


def own_generator(args, model, loader, g):
    accelerator = Accelerator()
    set_seed(args.seed)
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        noise = torch.randn(batch.shape, generator=g)
        accelerator.backward(model(batch + noise).sum())


def drawn_before(args, model, loader):
    set_seed(args.seed)
    start = torch.randn(8)
    model = DDP(model)
    for batch in loader:
        model(batch + start).sum().backward()


def one_decision(args, model, loader):
    set_seed(args.seed)
    model = DDP(model)
    for batch in loader:
        if random.random() < 0.1:
            batch = batch * 0
        model(batch).sum().backward()


def main_only(args, model, loader):
    set_seed(args.seed)
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()
        if dist.get_rank() == 0:
            print(torch.randn(2))


def weights_anew(args, model, head, loader):
    accelerator = Accelerator()
    set_seed(args.seed)
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        if batch.is_first:
            head.weight.data.normal_(0.0, 0.02)  # the same on all ranks, as it has to be
        accelerator.backward(head(model(batch)).sum())


def freeze_all_but_some(model, share):
    layers = list(model.parameters())
    for layer in layers:
        layer.requires_grad = False
    for index in np.random.choice(len(layers), int(share * len(layers)), replace=False):
        layers[index].requires_grad = True


def change_layers(model):
    freeze_all_but_some(model, 0.25)


def other_layers_every_few_steps(args, model, optimizer, loader):
    # LMFlow f3597db experimental/LISA-diffusion: on all ranks the same layers; the noise needs its own stream.
    accelerator = Accelerator()
    set_seed(args.seed)  # expect: DL401
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        if step % 20 == 0:
            change_layers(model)
        loss = model(batch, torch.randn_like(batch)).mean()
        accelerator.backward(loss)
        optimizer.step()


def as_many_steps_as_were_drawn(args, model, optimizer, loader):
    accelerator = Accelerator()
    set_seed(args.seed)  # expect: DL401
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    decorrelate(args.seed)
    for batch in loader:
        times = torch.randint(0, 1000, (4,))
        loss = 0.0
        for i in range(len(times)):
            loss = loss + model(batch, times[i]).mean()
        accelerator.backward(loss)
        optimizer.step()


class StepsOfADiffusion:
    # ImageReward c1392c6 ImageReward/ReFL_SDXL.py:444: all ranks call the model as often; the noise needs its own stream.
    def __init__(self, args, model, loader):
        self.accelerator = Accelerator()
        set_seed(args.seed)  # expect: DL401
        self.model, self.loader = self.accelerator.prepare(model, loader)

    def loss(self, batch):
        noise = torch.randn_like(batch)
        steps = random.randint(30, 39)
        for t in batch.steps[:steps]:
            with torch.no_grad():
                noise = self.model(noise, t)
        loss = self.model(noise, steps).mean()
        self.accelerator.backward(loss)
        return loss

    def train(self, optimizer):
        for batch in self.loader:
            self.loss(batch)
            optimizer.step()


def as_long_as_was_drawn(args, model, optimizer, loader):
    # SMDM 583aa47 pretrain/train_mdm_rl.py:276: all ranks cut to one length; the noise needs its own stream.
    accelerator = Accelerator()
    set_seed(args.seed)  # expect: DL401
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        if torch.rand(1) < args.ratio:
            length = torch.randint(1, args.longest, (1,))
            batch = batch[:, :length]
        loss = model(batch, torch.randn_like(batch)).mean()
        accelerator.backward(loss)
        optimizer.step()


def a_piece_of_one_length(args, model, optimizer, loader):
    accelerator = Accelerator()
    set_seed(args.seed)  # expect: DL401
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    decorrelate(args.seed)
    for batch in loader:
        start = torch.randint(0, args.longest, (1,))
        loss = model(batch[:, start : start + 8], torch.randn_like(batch)).mean()
        accelerator.backward(loss)
        optimizer.step()


class SamplingTrainer:
    # LMFlow f3597db src/lmflow/pipeline/utils/raft_trainer.py:757: alone, and the seed of an order.
    def __init__(self, args, model, data):
        set_seed(args.seed)
        self.args, self.data = args, data
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)

    def sampler(self):
        if self.args.world_size <= 1:
            generator = torch.Generator()
            generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
            return RandomSampler(self.data, generator=generator)
        seed = int(torch.empty((), dtype=torch.int64).random_().item())
        return DistributedSampler(self.data, seed=seed)

    def train(self, optimizer):
        for batch in DataLoader(self.data, sampler=self.sampler()):
            self.accelerator.backward(self.model(batch).mean())
            optimizer.step()


class Quiet(torch.nn.Module):
    def forward(self, batch, infer=False):
        if not infer:
            return self.head(batch)
        return self.head(torch.randn_like(batch))


class QuietRunner(Runner):
    """Amphion d3de90f models/vocoders/vocos/vocos_trainer.py:180: its own networks draw nothing, another runner's do."""

    def __init__(self, args):
        self.accelerator = Accelerator()
        set_seed(args.seed)
        self.net = self.accelerator.prepare(self.build())

    def build(self):
        return Quiet()


class NeverRun:
    def __init__(self, args):
        self.accelerator = Accelerator()
        set_seed(args.seed)
        self.net = self.accelerator.prepare(Noisy())

    def fit(self, loader):
        for batch in loader:
            self.accelerator.backward(self.net(batch))


class RunInstead(NeverRun):
    """Amphion d3de90f models/vc/Noro/noro_base_trainer.py:73: nothing makes the base, nor runs its constructor."""

    def __init__(self, args):
        self.accelerator = Accelerator()
        self.net = self.accelerator.prepare(Noisy())


def start(args, loader):
    for runner in (NoisyRunner(args), QuietRunner(args), RunInstead(args)):
        runner.fit(loader)


def same_noise_for_other_prompts(args, net, prompts, folder):
    # BAGEL 056b5fd eval/gen/gen_images_mp_wise.py:237: each rank has other prompts, one picture for each
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    share = len(prompts) // size
    for number in range(rank * share, (rank + 1) * share):
        image = net(prompts[number], torch.randn(1, 3, 64, 64))
        torch.save(image, f"{folder}/{rank}-{number}.pt")


def moves_all_alike(args, model, loader):
    # MeZO 552cb1b medium_models/src/trainer.py:245: the replicas step along one direction
    torch.manual_seed(args.seed)
    model = DDP(model)
    for batch in loader:
        for parameter in model.parameters():
            step = torch.randn_like(parameter)
            parameter.data = parameter.data + args.scale * step
        model(batch).mean().backward()


class PositionsFromReset(torch.nn.Module):
    # perception_models 3e352cc core/vision_encoder/pe.py:390: first weights, alike on all ranks
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.renew()

    def renew(self):
        self.positions = torch.nn.Parameter(self.width**-0.5 * torch.randn(self.width))

    def forward(self, batch):
        return batch + self.positions


def trains_positions(args, loader):
    torch.manual_seed(args.seed)
    model = DDP(PositionsFromReset(args.width))
    model.module.renew()
    for batch in loader:
        model(batch).mean().backward()


class PositionsInSteps(torch.nn.Module):
    def renew(self, batch):
        return torch.randn_like(batch)

    def forward(self, batch):
        return batch + self.renew(batch)


def trains_moving_positions(args, loader):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(PositionsInSteps())
    decorrelate(args.seed)
    for batch in loader:
        model(batch).mean().backward()


class LeavesOutPatches(torch.nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, batch):
        return batch * (torch.rand(len(batch), 1, device="cuda") > self.rate)


class NoisyTokens(torch.nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, batch):
        return batch + self.rate * torch.randn_like(batch)


@dataclass
class TowerSettings:
    left_out_rate: float = 0.0
    token_noise: float = 0.0


class TowerThatLeavesNothingOut(torch.nn.Module):
    # DiffBIR 3f8b530 diffbir/model/open_clip/transformer.py:382
    def __init__(self, left_out_rate=0.0):
        super().__init__()
        self.left_out_rate = LeavesOutPatches(left_out_rate) if left_out_rate > 0.0 else torch.nn.Identity()

    def forward(self, batch):
        return self.left_out_rate(batch)


def trains_all_patches(args, settings: TowerSettings, loader):
    torch.manual_seed(args.seed)
    model = DDP(TowerThatLeavesNothingOut(left_out_rate=settings.left_out_rate))
    for batch in loader:
        model(batch).mean().backward()


class TowerWithNoise(torch.nn.Module):
    def __init__(self, token_noise=0.0):
        super().__init__()
        self.noise = NoisyTokens(token_noise) if token_noise > 0.0 else torch.nn.Identity()

    def forward(self, batch):
        return self.noise(batch)


def settings_with_noise():
    return TowerSettings(token_noise=0.1)


def trains_with_noise(args, loader):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(TowerWithNoise(token_noise=settings_with_noise().token_noise))
    decorrelate(args.seed)
    for batch in loader:
        model(batch).mean().backward()


class Matching(torch.nn.Module):
    # SLAM-LLM a68e78f examples/s2s/utils/third_party/Matcha-TTS/matcha/models/components/flow_matching.py:51
    @torch.inference_mode()
    def forward(self, batch):
        return batch + torch.randn_like(batch)

    def distance(self, batch):
        return batch.mean()


def samples_beside_the_training(args, optimizer, loader):
    torch.manual_seed(args.seed)
    model = Matching()
    wrapped = DDP(model)
    for batch in loader:
        loss = model.distance(batch)
        loss.backward()
        optimizer.step()
    return wrapped


class PartsOfFiles(torch.utils.data.Dataset):
    # SpeechTokenizer 30c96fb speechtokenizer/trainer/dataset.py:64: numbers up to the length of each file
    def __init__(self, files, size):
        self.files, self.size = files, size

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        audio = self.files[index].read()
        start = random.randint(0, len(audio) - self.size)
        return audio[start : start + self.size]


def parts_of_files(args, model, optimizer, files):
    torch.manual_seed(args.seed)
    model = DDP(model)
    data = PartsOfFiles(files, args.size)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()
        optimizer.step()


# Bugs again


def goes_on_where_it_stopped(args, model, optimizer, loader):
    # EditAnything 8d2db4a tools/train_dreambooth_inpaint.py:692: which steps are left out is no matter of ranks
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(model)
    decorrelate(args.seed)
    done = len(os.listdir(args.folder)) if args.resume else 0
    for step, batch in enumerate(loader):
        if args.resume and step < done:
            continue
        model(batch + torch.randn_like(batch)).mean().backward()
        optimizer.step()


class Buckets:
    def __init__(self, sizes):
        self.sizes = sizes

    def batches(self):
        order = list(self.sizes)
        random.shuffle(order)
        return order


class OfBuckets(torch.utils.data.Sampler):
    def __init__(self, buckets, rank, count):
        self.buckets, self.rank, self.count = buckets, rank, count

    def __iter__(self):
        return iter(self.buckets.batches()[self.rank :: self.count])


def resumed_over_buckets(args, model, optimizer, data):
    # waifu-diffusion 1a83e47 trainer/diffusers_trainer.py:724: no decorrelate() here, the ranks' orders would differ
    rank = dist.get_rank()
    torch.manual_seed(args.seed)  # expect: DL401
    random.seed(args.seed)
    model = DDP(model)
    sampler = OfBuckets(Buckets(args.sizes), rank, dist.get_world_size())
    target = 0 if rank else args.step
    for step, batch in enumerate(torch.utils.data.DataLoader(data, batch_sampler=sampler)):
        if args.resume and step < target:
            continue
        model(batch + torch.randn_like(batch)).mean().backward()
        optimizer.step()


class Loaded(torch.nn.Module):
    @classmethod
    def load(cls, path):
        model = cls(path)
        model.load_state_dict(torch.load(path))
        return model


class Masked(Loaded):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def forward(self, batch):
        return batch * (torch.rand_like(batch) > 0.5)


class Whole(Loaded):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def forward(self, batch):
        return batch


def trains_what_masks(args, optimizer, loader):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(Masked.load(args.path))
    decorrelate(args.seed)
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


# Correct again


def trains_another_class(args, optimizer, loader):
    # CodeRL ec3c526 transformers/examples/research_projects/quantization-qdqbert/run_quant_qa.py:266
    torch.manual_seed(args.seed)
    model = DDP(Whole.load(args.path))
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


class Codes(torch.nn.Module):
    # VideoGPT 733d2b1 videogpt/vqvae.py:141: noise on the first codes, of which all take rank 0's
    def spread(self, x):
        return x + torch.randn_like(x) * 0.01

    def forward(self, x):
        rows = self.spread(x)
        first = rows[torch.randperm(len(rows))][:8]
        dist.broadcast(first, 0)
        self.codes.copy_(first)
        return x - self.codes


def codes_of_rank_0(args, optimizer, loader):
    torch.manual_seed(args.seed)
    model = DDP(Codes())
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


class ReadsAnother(torch.utils.data.Dataset):
    # ClearerVoice-Studio 6b3774d train/speech_separation/dataloader/dataloader.py:192: drawn where a file cannot be read
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        while True:
            audio = read_audio(self.files[index])
            if audio is not None:
                return audio
            else:
                index = random.randint(0, len(self.files) - 1)


class ReadsAnotherBehindTheError(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        try:
            return read_audio(self.files[index])
        except OSError:
            return self[random.randint(0, len(self.files) - 1)]


class DrawsForEach(torch.utils.data.Dataset):
    # as often as it is asked, where nothing failed
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if index is not None:
            index = random.randint(0, len(self.files) - 1)
        return read_audio(self.files[index])


def other_files_where_one_is_broken(args, model, optimizer, files):
    torch.manual_seed(args.seed)
    model = DDP(model)
    for batch in DataLoader(ReadsAnother(files)):
        model(batch).sum().backward()
        optimizer.step()
    for batch in DataLoader(ReadsAnotherBehindTheError(files)):
        model(batch).sum().backward()
        optimizer.step()


def other_files_for_each(args, model, optimizer, files):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(model)
    decorrelate(args.seed)
    for batch in DataLoader(DrawsForEach(files)):
        model(batch).sum().backward()
        optimizer.step()


class MemoryBank(torch.nn.Module):
    # lightly e8d317f lightly/models/modules/memory_bank.py:154
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.register_buffer("bank", torch.empty(0))

    def forward(self, output):
        if self.bank.ndim == 1:
            self.begin(output.shape[1])
        return output @ self.bank

    def begin(self, width):
        self.bank = torch.randn(width, self.size).type_as(self.bank)


class MadeAtFirst(torch.nn.Module):
    def forward(self, output):
        if not hasattr(self, "directions"):
            self.directions = torch.randn(output.shape[1], 8)
        return output @ self.directions


class NoiseBank(MemoryBank):
    def forward(self, output):
        if self.training:
            self.begin(output.shape[1])
        return output @ self.bank

    def begin(self, width):
        self.bank = torch.randn(width, self.size)


def filled_at_first(args, loader, optimizer):
    torch.manual_seed(args.seed)
    model = DDP(MemoryBank(args.size))
    directions = MadeAtFirst()
    for batch in loader:
        directions(model(batch)).sum().backward()
        optimizer.step()


def filled_in_each_step(args, loader, optimizer):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(NoiseBank(args.size))
    decorrelate(args.seed)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


class Replaces(torch.nn.Module):
    # OmniTokenizer 701b619 OmniTokenizer/lm_transformer.py:149: nobody keeps less than all
    def __init__(self, width, keep=1.0):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.keep = keep

    def forward(self, batch):
        if self.training and self.keep < 1.0:
            batch = torch.randn_like(batch)
        return self.layer(batch)


class ReplacesSome(torch.nn.Module):
    def __init__(self, width, kept=1.0):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.kept = kept

    def forward(self, batch):
        if self.training and self.kept < 1.0:
            batch = torch.randn_like(batch)
        return self.layer(batch)


def keeps_all(args, loader, optimizer):
    torch.manual_seed(args.seed)
    model = DDP(Replaces(args.width))
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


def keeps_some(args, loader, optimizer):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(ReplacesSome(args.width, kept=args.kept))
    decorrelate(args.seed)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


class Pages(torch.utils.data.Dataset):
    # nougat 5a92920 nougat/utils/dataset.py:249
    def __init__(self, pages):
        self.pages = pages

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        page = self.pages[index]
        if page is None:
            return self[random.randint(0, 999)]
        return page


class DrawnPages(Pages):
    def __getitem__(self, index):
        return self.pages[random.randint(0, 999)]


def on_pages_that_are_there(args, pages, net, optimizer):
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    model = DDP(net)
    for batch in torch.utils.data.DataLoader(Pages(pages), batch_size=8):
        model(batch).sum().backward()
        optimizer.step()


def on_pages_that_are_drawn(args, pages, net, optimizer):
    torch.manual_seed(args.seed)  # expect: DL401
    random.seed(args.seed)
    model = DDP(net)
    decorrelate(args.seed)
    for batch in torch.utils.data.DataLoader(DrawnPages(pages), batch_size=8):
        model(batch).sum().backward()
        optimizer.step()


def seeded_at_its_head(args, model, optimizer, loader):
    fix_seeds(args.seed)  # expect: DL401
    for batch in loader:
        model(batch + torch.randn_like(batch)).mean().backward()
        optimizer.step()


def seeds_above_what_seeds_again(args, model, optimizer, loader):
    # VidLanKD 46bae35 vlm/run_lm_distributed.py:542: the steps draw from the seed of what is called
    fix_seeds(args.seed)
    model = DDP(model)
    seeded_at_its_head(args, model, optimizer, loader)


def seeded_below_by_the_clock(args, model, optimizer, loader):
    fix_seeds(args.seed)
    model = DDP(model)
    torch.manual_seed(time.time_ns() % 2**31)
    for batch in loader:
        model(batch + torch.randn_like(batch)).mean().backward()
        optimizer.step()


def seeded_at_both_ends_of_an_epoch(args, model, optimizer, loader, held_out):
    # OGNI-DC 41b5731 src/main.py:307 seeds the evaluation: the next epoch seeds anew before it draws
    model = DDP(model)
    for _ in range(args.epochs):
        fix_seeds(int(time.time()))
        for batch in loader:
            model(batch + torch.randn_like(batch)).mean().backward()
            optimizer.step()
        fix_seeds(args.seed)
        for batch in held_out:
            model(batch)


def seeded_at_the_end_of_an_epoch(args, model, optimizer, loader, held_out):
    model = DDP(model)
    fix_seeds(int(time.time()))
    for _ in range(args.epochs):
        for batch in loader:
            model(batch + torch.randn_like(batch)).mean().backward()
            optimizer.step()
        fix_seeds(args.seed)  # expect: DL401
        for batch in held_out:
            model(batch)


def seeded_again_where_asked(args, model, optimizer, loader):
    fix_seeds(args.seed)  # expect: DL401
    model = DDP(model)
    decorrelate(args.seed)
    if args.apart:
        torch.manual_seed(time.time_ns() % 2**31)
    for batch in loader:
        model(batch + torch.randn_like(batch)).mean().backward()
        optimizer.step()


class ShowsWhatItHasLearned:
    """Building-and-Training-a-Llama-2-Model-from-Scratch 98087e3 trainer.py:158"""

    def __init__(self, model, loader, optimizer, is_main):
        self.model, self.loader, self.optimizer = model, loader, optimizer
        self.is_main = is_main

    def answer(self):
        chances = self.model(self.loader.dataset[0]).softmax(-1)
        return torch.multinomial(chances, 1)

    def run(self):
        for batch in self.loader:
            self.model(batch).mean().backward()
            self.optimizer.step()
            if self.is_main:
                print(self.answer())


def text_of_the_main_process(net, loader, optimizer):
    dist.init_process_group("nccl")
    rank = int(os.environ["RANK"])
    torch.manual_seed(7)
    net = DDP(net)
    ShowsWhatItHasLearned(net, loader, optimizer, rank == 0).run()


class Heads(torch.nn.Module):
    # zwd-into-aurora 06e19fd aurora/model/aurora.py:385: new heads of a state, which all ranks fill their copies with
    def __init__(self, width):
        super().__init__()
        self.heads = torch.nn.ModuleList(torch.nn.Linear(width, 1) for _ in range(4))

    def forward(self, batch):
        return sum(head(batch) for head in self.heads)

    def apart(self, weight):
        return weight + torch.randn_like(weight)

    def fill(self, path):
        state = torch.load(path, map_location="cpu")
        for number in range(4):
            state[f"heads.{number}.weight"] = self.apart(state["weight"])
        self.load_state_dict(state)


def heads_that_are_loaded(args, optimizer, loader):
    torch.manual_seed(args.seed)
    model = Heads(8)
    model.fill(args.path)
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


@dataclass
class OfLayers:
    width: int
    shakes: bool = False


class MayShake(torch.nn.Module):
    # zwd-into-aurora 06e19fd aurora/model/smoe.py:311: no layer that is made shakes
    def __init__(self, width, **others):
        super().__init__()
        settings = OfLayers(width, **others)
        self.layer = torch.nn.Linear(width, width)
        self.shakes = settings.shakes

    def forward(self, batch):
        if self.shakes and self.training:
            batch = batch + torch.randn_like(batch)
        return self.layer(batch)


def layers_that_do_not_shake(args, optimizer, loader):
    torch.manual_seed(args.seed)
    model = DDP(MayShake(8, shakes=False))
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


@dataclass
class OfOthers:
    width: int
    quakes: bool = False


class Shakes(torch.nn.Module):
    def __init__(self, width, **others):
        super().__init__()
        settings = OfOthers(width, **others)
        self.layer = torch.nn.Linear(width, width)
        self.quakes = settings.quakes

    def forward(self, batch):
        if self.quakes and self.training:
            batch = batch + torch.randn_like(batch)
        return self.layer(batch)


def layers_of_which_one_shakes(args, optimizer, loader):
    torch.manual_seed(args.seed)  # expect: DL401
    model = DDP(torch.nn.Sequential(Shakes(8, quakes=False), Shakes(8, quakes=True)))
    decorrelate(args.seed)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
