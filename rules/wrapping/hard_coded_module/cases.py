"""`.module` where there may be no wrapper, and where there is one."""

import copy
import os

import deepspeed
import torch
import torch.distributed as dist
from accelerate import Accelerator
from lightning.fabric import Fabric
from ocpmodels.common.data_parallel import OneDeviceDataParallel
from peft import PeftModel
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.swa_utils import AveragedModel
from transformers import Trainer

# Bugs


def prepared(model, path):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    model.module.save_pretrained(path)  # always there?  # expect: DL204


def wrapped_sometimes(model, path):
    if dist.is_initialized() and dist.get_world_size() > 1:
        model = DDP(model)
    return model.module.config  # expect: DL204


class Own(Trainer):
    def save_head(self, path):
        self.model_wrapped.module.head.save(path)  # expect: DL204


def wrapped_under_a_flag_left_on(net, distributed):
    if True:
        if distributed:
            net = DDP(net)
    return net.module.config  # expect: DL204


class Loop:
    def __init__(self, net, distributed):
        self.model = net
        if distributed:
            self.model = DDP(net)

    def head(self):
        return self.model.module.head  # expect: DL204


def met_by_some(net, loader, distributed):
    if distributed:
        net = DDP(net)
    if loader is not None:
        dist.barrier()
    return net.module.config  # expect: DL204


def trained_for_an_epoch(model, loader):
    for batch in loader:
        model(batch).backward()
        clip(model.module.parameters())  # expect: DL204


def meets_in_some_runs(net, loader, epochs, distributed, timed):
    if distributed:
        net = DDP(net)
    if timed:
        dist.barrier()
    for _ in epochs:
        trained_for_an_epoch(net, loader)


def wrapped_for_several(net):
    if dist.get_world_size() > 1:
        net = DDP(net)
    dist.barrier()
    return net.module.config  # expect: DL204


def prepared_and_met_where_there_is_a_group(model, loader, every):
    model = Accelerator().prepare(model)
    for step, batch in enumerate(loader):
        model.module.head(batch).backward()  # expect: DL204
        if step % every == 0 and dist.is_initialized():
            dist.barrier()


def bare_without_a_launcher(args, net):
    if args.local_rank != -1:
        net = DDP(net)
    if args.local_rank > 0:
        dist.barrier()
    return net.module.head  # expect: DL204


# Correct


def joined(results):
    dist.barrier()
    return results


def evaluated(model, loader, every):
    # mPLUG c666bfa caption_mplug_scst.py:123
    for step, batch in enumerate(loader):
        results = model(batch)
        if step % every == 0:
            joined(results)
            print(model.module.config)


def evaluates(net, loader, distributed):
    if distributed:
        net = DDP(net)
    evaluated(net, loader, 100)


def counted(net, loader, distributed):
    # mPLUG c666bfa grounding_mplug.py:175
    model = net
    if distributed:
        model = DDP(net)
    right = torch.zeros(1)
    for batch in loader:
        right += model.module(batch).sum()
    dist.all_reduce(right)
    return right


def clipped_in_each_step(model, loader):
    for batch in loader:
        model(batch).backward()
        clip(model.module.parameters())


def meets_above_the_epochs(net, loader, epochs, distributed):
    # Pyramid-Flow 3040d71 train/train_video_vae.py:279
    dist.barrier()
    if distributed:
        net = DDP(net)
    for _ in epochs:
        clipped_in_each_step(net, loader)


def always_wrapped(net):
    model = DDP(net)
    return model.module.config


def wrapped_under_a_flag_that_is_gone(net):
    # ibot evaluation/eval_cls.py:684.
    model = net
    if True:
        model = DDP(net)
    return model.module.config


def asked_by_name(model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if hasattr(model, "module"):
        return model.module.config
    return model.config


class Training:
    def __init__(self, net, config):
        self.model, self.config = net, config
        if torch.cuda.device_count() > 1:
            self.model = DDP(self.model)

    def by_its_other_name(self):
        model, config = self.model, self.config
        raw = model.module if hasattr(self.model, "module") else model
        return raw.configure(config)

    def by_a_local_name(self):
        model = self.model
        if isinstance(model, DDP):
            return self.model.module.config
        return self.model.config

    def asked_of_another(self, other):
        model = other
        if hasattr(model, "module"):
            return self.model.module.config  # expect: DL204
        return None


def asked_by_class(model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    return model.module if isinstance(model, DDP) else model


def same_condition(net, args):
    model = DDP(net) if args.distributed else net
    if args.distributed:
        return model.module.config
    return net.config


class Averaging:
    def __init__(self, net, stage):
        self.average = None
        if stage == "fit":
            self.average = AveragedModel(net)

    def buffers(self):
        return self.average.module.buffers()


def same_number(net):
    model = net
    if dist.get_world_size() > 1:
        model = DDP(net)
        print(model.module.config)
    return model


def unknown(model):
    return model.module.config


def expected_to_fail(model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    try:
        return model.module
    except AttributeError:
        return model


def the_other_arm_raises(net, sharded):
    if sharded:
        net = DDP(net)
    else:
        raise ValueError("one process is not supported")
    return net.module.config


def where_there_is_a_group(net, options):
    """Music-Source-Separation-Training utils/model_utils.py:859: who has made a group has wrapped."""
    if options.several:
        net = DDP(net)
    if torch.distributed.is_initialized():
        torch.save(net.module.state_dict(), options.path)
    else:
        torch.save(net.state_dict(), options.path)


def for_any_gpu(net, options):
    """pix2pixHD 14b3b3c models/models.py:17: one GPU is enough."""
    if options.training and len(options.gpu_ids) and not options.fp16:
        net = torch.nn.DataParallel(net, device_ids=options.gpu_ids)
    return net


def encodes_features(net, options):
    net = for_any_gpu(net, options)
    return net.module.encode


def for_several_gpus(net, options):
    if len(options.gpu_ids) > 1:
        net = torch.nn.DataParallel(net, device_ids=options.gpu_ids)
    return net.module.encode  # expect: DL204


def by_a_flag(net, options):
    several = torch.cuda.device_count() > 1
    if several:
        net = torch.nn.DataParallel(net)
    return net.module.encode  # expect: DL204


def chosen_by_name(net, options):
    if options.engine == "torch_ddp":
        net = DDP(net)
    return net


def tuned(net, options, several):
    net = chosen_by_name(net, options)
    return net.module.parameters() if several else None


class Kept:
    def __init__(self, net, use_gpu):
        self.use_gpu = use_gpu
        self.net = net
        if use_gpu:
            self.net = DDP(net)

    def save(self):
        if self.use_gpu:
            return self.net.module.state_dict()
        return self.net.state_dict()


def where_the_model_lacks_what_it_has(args, model: torch.nn.Module, batch):
    if args.local_rank != -1:
        model = DDP(model, device_ids=[args.local_rank])
    model(batch).mean().backward()
    return model.config.top if hasattr(model, "config") else model.module.config.top


def the_best_one(args, net: torch.nn.Module, epochs):
    # Oscar 266075f oscar/run_vqa.py:630.
    if args.local_rank != -1:
        net = DDP(net)
    best = {"epoch": 0, "model": copy.deepcopy(net)}
    for epoch in epochs:
        best["model"] = copy.deepcopy(net)
        net(epoch).mean().backward()
    return best["model"].module if hasattr(net, "module") else best["model"]


def not_of_the_best_one(args, net: torch.nn.Module, other, epochs):
    if args.local_rank != -1:
        net = DDP(net)
    best = {"epoch": 0, "model": copy.deepcopy(net)}
    for epoch in epochs:
        net(epoch).mean().backward()
    return best["model"].module if hasattr(other, "module") else None  # expect: DL204


def of_another_entry(args, net: torch.nn.Module, plain, epochs):
    if args.local_rank != -1:
        net = DDP(net)
    both = {"model": copy.deepcopy(net), "plain": copy.deepcopy(plain)}
    return both["model"].module if hasattr(both["plain"], "module") else None  # expect: DL204


class TwoEngines:
    """align-anything 3f9decc align_anything/trainers/base/supervised_trainer.py: each trainer calls one of the two."""

    def start_accelerate(self):
        self.net = self.accelerator.prepare(self.net)

    def start_deepspeed(self):
        self.net, *_ = deepspeed.initialize(model=self.net, config=self.config)


class OfDeepSpeed(TwoEngines):
    def __init__(self, net, config):
        self.net, self.config = net, config
        self.start_deepspeed()

    def head(self):
        return self.net.module.head


class OfAccelerate(TwoEngines):
    def __init__(self, net):
        self.net, self.accelerator = net, Accelerator()
        self.start_accelerate()

    def head(self):
        return self.net.module.head  # expect: DL204


class OpenToAll:
    def prepare_net(self):
        self.net = self.accelerator.prepare(self.net)


class PreparesItself(OpenToAll):
    def __init__(self, net):
        self.net, self.accelerator = net, Accelerator()
        self.prepare_net()


class IsPrepared(OpenToAll):
    def __init__(self, net):
        self.net, self.accelerator = net, Accelerator()

    def head(self):
        return self.net.module.head  # expect: DL204


def head_of(net):
    loop = IsPrepared(net)
    loop.prepare_net()
    return loop.head()


def sees_to_it(net, device, multi_gpu):
    # cav-mae 68fe8c2 src/traintest_ft.py:37: wrapped on both ways
    if multi_gpu:
        net = nn.DataParallel(net)
    sees_to_it_itself(net, device)


def sees_to_it_itself(net, device):
    if not isinstance(net, nn.DataParallel):
        net = nn.DataParallel(net)
    net = net.to(device)
    return list(net.module.parameters())


class FlagOfSeveral:
    # s3prl ec8064b s3prl/pretrain/apc/pretrain_expert.py:94
    def __init__(self, net, options):
        self.multi_gpu = options.multi_gpu
        self.net = net
        if self.multi_gpu:
            self.net = nn.DataParallel(self.net)

    def weights(self):
        return self.net.module.state_dict() if self.multi_gpu else self.net.state_dict()


class FlagAtTheCalls:
    # DoRA 7e2f10a image_video_text_understanding/VL-T5/src/ddp_fix.py:46
    def __init__(self, net, options):
        self.distributed = options.distributed
        self.net = net
        if self.distributed:
            self.net = DDP(self.net)

    def step(self, batch):
        if self.distributed:
            return forward_of(self.net, batch)
        return self.net(batch)


def forward_of(net, batch):
    return net.module(batch)


def prepared_behind_the_wrap(net, path):
    accelerator = Accelerator()
    net = DDP(net.cuda())
    net = accelerator.prepare(net)
    if accelerator.is_main_process:
        torch.save(net.module.state_dict(), path)


class InOtherLibrary:
    # equiformer_v2 cf45ee2 oc20/trainer/base_trainer_oc20.py:690: what is around the model on one process has a `module`
    def __init__(self, net, distributed):
        self.net = net.cuda()
        self.net = OneDeviceDataParallel(self.net, device_ids=[0])
        if distributed:
            self.net = DDP(self.net)

    def head(self):
        return self.net.module.head


class InAdapters:
    def __init__(self, net, distributed):
        self.net = net.cuda()
        self.net = PeftModel(self.net, "path")
        if distributed:
            self.net = DDP(self.net)

    def head(self):
        return self.net.module.head  # expect: DL204


class BesideOtherLibrary:
    def __init__(self, net, distributed):
        self.teacher = OneDeviceDataParallel(net)
        self.net = net.cuda()
        if distributed:
            self.net = DDP(self.net)

    def head(self):
        return self.net.module.head  # expect: DL204


def in_ddp_unless_on_cpu(args, net, loader):
    if not args.only_cpu:
        net = DDP(net)
    on_gpus(args, net, loader)
    anywhere(args, net, loader)
    on_gpus_at_times(args, net, loader)


def on_gpus(args, net, loader):
    # EdgeSAM b53372c training/train.py:294: on the CPU the model does not take what is on a GPU
    for batch in loader:
        batch = batch.cuda(non_blocking=True)
        net(batch)
        net.module.encoder(batch)


def anywhere(args, net, loader):
    for batch in loader:
        net.module.encoder(batch)  # expect: DL204


def on_gpus_at_times(args, net, loader):
    for batch in loader:
        if args.fast:
            batch = batch.cuda()
        net.module.encoder(batch)  # expect: DL204


class SetUp:
    # HLLM 2deed17 code/REC/trainer/trainer.py:407: what Fabric sets up has a `module` on one process too
    def __init__(self, net):
        self.net = net
        self.fabric = Fabric()

    def evaluate(self, batch, fresh):
        if fresh:
            self.net = self.fabric.setup(self.net)
        return self.net.module.predict(batch)


class WrappedByItself:
    def __init__(self, net):
        self.net = net

    def evaluate(self, batch):
        if dist.get_world_size() > 1:
            self.net = DDP(self.net)
        return self.net.module.predict(batch)  # expect: DL204


def has_group():
    if not dist.is_available():
        return False
    if not dist.is_initialized():
        return False
    return True


class AsksAHelper:
    # obow 3758504 obow/builder_obow.py:580: the helper says what `is_initialized()` says
    def __init__(self, net, settings):
        self.net = net
        if settings.several:
            self.net = DDP(net)

    def first_words(self):
        if has_group():
            return self.net.module.words
        return None


def wrapped_new_or_loaded(args, net, loader):
    # CT-Net 83badd6 main.py:159: both ways wrap
    if not args.resume:
        net = nn.DataParallel(net)
    if args.resume:
        if os.path.isfile(args.resume):
            net.load_state_dict(torch.load(args.resume))
            net = nn.DataParallel(net)
    for batch in loader:
        net(batch)
        net.module.freeze(batch)


def wrapped_new_alone(args, net, loader):
    if not args.resume:
        net = nn.DataParallel(net)
    if args.resume:
        net.module.load_state_dict(torch.load(args.resume))  # expect: DL204
        net = nn.DataParallel(net)
    return net


def wrapped_for_two_launches(args, net, loader):
    if not args.quick and args.n_gpu > 1:
        net = nn.DataParallel(net)
    if args.quick and args.n_gpu > 1:
        net = nn.DataParallel(net)
    for batch in loader:
        net.module.freeze(batch)  # expect: DL204


def sharded_or_on_all_gpus(net, settings):
    # visual-recognition-memory 407fd65 train_fsdp.py:111: each wrapper has a `module`
    if settings.distributed:
        if settings.gpu is not None:
            net = FullyShardedDataParallel(net, device_ids=[settings.gpu])
        else:
            net = FullyShardedDataParallel(net)
    else:
        net = torch.nn.DataParallel(net)
    net.module.load_state_dict(torch.load(settings.path))


def sharded_or_bare(net, settings):
    if settings.distributed:
        if settings.gpu is not None:
            net = FullyShardedDataParallel(net, device_ids=[settings.gpu])
        else:
            net = FullyShardedDataParallel(net)
    net.module.load_state_dict(torch.load(settings.path))  # expect: DL204


class Contrasted(nn.Module):
    def forward(self, batch):
        return batch + dist.get_rank() * len(batch)


class Asked(nn.Module):
    def forward(self, batch):
        return batch + (dist.get_rank() if dist.is_initialized() else 0)


def behind_a_step_of_a_model_that_asks_for_its_rank(loader, accelerator):
    # multi_modal 3804a5c train_accelerate.py:141: where nothing is wrapped there is no group, and the step fails
    net = Contrasted()
    net, loader = accelerator.prepare(net, loader)
    for batch in loader:
        accelerator.backward(net(batch))
        print(net.module.features(batch))


def behind_a_step_of_a_model_that_asks_for_a_group(loader, accelerator):
    net = Asked()
    net, loader = accelerator.prepare(net, loader)
    for batch in loader:
        accelerator.backward(net(batch))
        print(net.module.features(batch))  # expect: DL204


def behind_a_barrier_in_each_so_many_steps(net, loader, accelerator, path):
    # OmniGen's issue 71: on one GPU the read comes before any such step
    net, loader = accelerator.prepare(net, loader)
    for step, batch in enumerate(loader):
        accelerator.backward(net(batch))
        if step % 4 == 0:
            dist.barrier()
    if accelerator.is_main_process:
        net.module.save(path)  # expect: DL204


def in_front_of_a_barrier(net, loader, accelerator, path):
    net, loader = accelerator.prepare(net, loader)
    net.module.save(path)  # expect: DL204
    for batch in loader:
        accelerator.backward(net(batch))
        dist.barrier()


def one_epoch(net, loader, optimizer):
    for batch in loader:
        net(batch).mean().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print("one more")


def behind_an_epoch_that_asks_for_the_rank(net, loader, optimizer, config, path):
    # EnCodec_Trainer c0df846 train_multi_gpu.py:137
    if config.parallel:
        dist.init_process_group("nccl")
        net = DDP(net)
    one_epoch(net, loader, optimizer)
    net.module.save(path)


def behind_an_epoch_in_any_group(net, loader, optimizer, config, path):
    dist.init_process_group("nccl")
    if config.parallel:
        net = DDP(net)
    one_epoch(net, loader, optimizer)
    net.module.save(path)  # expect: DL204
