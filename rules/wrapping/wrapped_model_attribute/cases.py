"""Attributes read through wrappers, and reads that look like it."""

import argparse
import contextlib
import copy
import os
from dataclasses import dataclass

import deepspeed
import torch
import torch.distributed as dist
from accelerate import Accelerator, DistributedType
from accelerate.utils import DummyOptim, FullyShardedDataParallelPlugin
from diffusers import StableDiffusionPipeline
from ema_pytorch import EMA
from munch import Munch
from mmcv.parallel import MMDataParallel, MMDistributedDataParallel, is_module_wrapper
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoTokenizer, Trainer
from transformers.integrations import is_deepspeed_zero3_enabled
from transformers.utils import is_sagemaker_mp_enabled

# Bugs


class Whole(nn.Module):
    """What the models have that are handed to the functions below."""

    tokenizer: object
    num_labels: object
    decode_image: object
    _update_model_kwargs_for_generation: object
    stages: object
    generator: object
    vocabulary: object
    depth: object
    look_close: object
    head_width: object
    num_experts: object
    update_and_allocate: object
    resize_by_pattern: object
    sizes: object
    get_position_ids: object
    save_memory: object
    synthesise: object


def has_no_such_attribute(net):
    # FasterViT 7ecdb2b fastervit/train.py:845: a name that nothing of the program has is listed, without an edit
    net = DDP(net)
    return net.enforce_mask()  # expect: DL201


class Small(nn.Module):
    stride = 32

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 2)


class Large(Small):
    def reset_memory(self):
        self.memory = None


SIZES = {"small": Small, "large": Large}


def registered(name, local_rank):
    net = DDP(SIZES[name]().to(local_rank))
    net.reset_memory()  # expect: DL201
    return net.stride  # expect: DL201


def pretrained(net, path):
    net = DDP(net)
    net.restore(path)  # expect: DL201


def fits_the_head(net, state):
    # DCNv4 4b848f7 classification/utils.py:219: repaired alone, it would evaluate random weights without a word
    net = DDP(net)
    if state["head.bias"].shape != net.head.bias.shape:  # expect: DL201
        del state["head.bias"]
    net.load_state_dict(state, strict=False)
    return net


def fits_the_head_strictly(net, state):
    net = DDP(net)
    net.load_state_dict(state, strict=False)
    if state["head.bias"].shape != net.head.bias.shape:  # expect: DL201
        del state["head.bias"]
    net.load_state_dict(state)
    return net


def asked_for_another(model, ids):
    # trlx 3340c2f trlx/trainer/accelerate_ppo_trainer.py:74
    model = Accelerator().prepare(model)
    if not hasattr(model, "frozen_head") and not model.peft_type:  # expect: DL201
        return model(ids)
    if hasattr(model, "frozen_head") or model.peft_type:  # expect: DL201
        return model.forward_hydra(ids)  # expect: DL201
    if not hasattr(model, "frozen_head"):
        print(model.config)  # expect: DL201
    return None


def sample(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        ids = model.generate(**batch)  # expect: DL201
        accelerator.print(ids, model.config.vocab_size)  # expect: DL201


def in_one_mode_of_two(model):
    accelerator = Accelerator()
    if accelerator.distributed_type in (DistributedType.FSDP, DistributedType.MULTI_GPU):
        model = accelerator.prepare(model)
    return model.config  # expect: DL201


def asked_of_the_settings(model, batch, config):
    model = Accelerator().prepare(model)
    recomputes = getattr(config, "is_gradient_checkpointing", False)
    if recomputes:
        model.gradient_checkpointing_disable()  # expect: DL201
    return model(batch)


def with_a_batch_that_is_divided(model, batch, size):
    assert size % dist.get_world_size() == 0
    model = DistributedDataParallel(model)
    return model.decoder(batch)  # expect: DL201


def on_unless_it_says_off(model, batch):
    model = Accelerator().prepare(model)
    recomputes = getattr(model, "is_gradient_checkpointing", True)
    if recomputes:
        model.gradient_checkpointing_disable()  # expect: DL201
    return model(batch)


def remembered_from_before_the_wrap(model, batch):
    recomputes = getattr(model, "is_gradient_checkpointing", False)
    model = Accelerator().prepare(model)
    if recomputes:
        model.gradient_checkpointing_disable()  # expect: DL201
    return model(batch)


def not_recomputed(model, batch):
    model = Accelerator().prepare(model)
    recomputes = getattr(model, "is_gradient_checkpointing", False)
    if not recomputes:
        model.gradient_checkpointing_enable()  # expect: DL201
    return model(batch)


def without_the_accelerator(model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    del accelerator
    return model.config  # expect: DL201


def first_of_several(model, optimizer, loader):
    model, *others, loader = Accelerator().prepare(model, optimizer, loader)
    print(model.config, loader.dataset, others)  # expect: DL201


def built(net):
    return {"net": DDP(net), "step": 0}


def in_a_dict(net):
    parts = built(net)
    return parts["net"].config  # expect: DL201


@dataclass
class State:
    model: nn.Module
    step: int = 0


def in_a_record(net):
    describe(State(DDP(net)))


def describe(state):
    print(state.model.config)  # expect: DL201


def plain_ddp(model, local_rank):
    model = DDP(model, device_ids=[local_rank])
    print(f"{model.dtype} on {model.device}")  # expect: DL201
    return model.config  # expect: DL201


def stride(net, rank):
    model = net.to(rank)
    if dist.get_world_size() > 1:
        model = DDP(model, device_ids=[rank])
    heads = model.model[-1].nl  # the model's own list  # expect: DL201
    return heads


def compiled(net):
    model = torch.compile(DDP(net))
    return model.num_labels  # torch.compile passes it on, DDP does not  # expect: DL201


def train(model, batches):
    model = DDP(model)
    for batch in batches:
        loss = model.compute_loss(batch)  # with gradients  # expect: DL201
        loss.backward()


def longer(model, tokens):
    model = DDP(model)
    return (
        model.embed(tokens)  # not under no_grad  # expect: DL201
        + 1
    )


class Loop:
    def __init__(self, model, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def card(self):
        return {"name": self.model.config._name_or_path}  # expect: DL201

    @torch.no_grad()
    def preview(self, prompt):
        return self.model.decode_image(prompt)  # expect: DL201

    def push(self):
        if self.accelerator.is_main_process:
            self.model.push_to_hub("me/model")  # expect: DL201


class PreparedUnderAnOption:
    def __init__(self, model, accelerator, delayed, is_ddp_enabled, is_fsdp_enabled):
        late = is_ddp_enabled or is_fsdp_enabled
        self.model = model
        if late:
            self.model = accelerator.prepare(model)

    def save(self, path):
        self.model.config.save(path)  # DDP is among them  # expect: DL201


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        scale = model.config.loss_scale  # expect: DL201
        return (outputs.loss * scale, outputs) if return_outputs else outputs.loss * scale

    def shape(self):
        return self.model_wrapped.config.hidden_size  # expect: DL201


class Temporary(Trainer):
    def generate(self, batch):
        self.model_wrapped.config.use_cache = True  # expect: DL201
        return self.accelerator.unwrap_model(self.model_wrapped).generate(**batch)


def unwrapped_on_main_only(text_encoder, optimizer, path):
    accelerator = Accelerator()
    text_encoder, optimizer = accelerator.prepare(text_encoder, optimizer)
    if accelerator.is_main_process:
        text_encoder = accelerator.unwrap_model(text_encoder)
        text_encoder.save_pretrained(path)
    return text_encoder.get_input_embeddings()  # the other ranks  # expect: DL201


class Loss:
    """Reads what `set_behind_the_wrap` sets on the wrapper, and what nobody sets."""

    def __init__(self, model):
        self.hyp = model.hyp
        self.stride = model.stride  # expect: DL201


def set_behind_the_wrap(net, hyp):
    model = DDP(net)
    model.hyp = hyp
    setattr(model, "gr", 1.0)
    return Loss(model), model.gr


class LossOfEither:
    """Reads what `set_behind_either_wrap` sets on whichever wrapper there is, and what nobody sets."""

    def __init__(self, model):
        self.hyp = model.hyp
        self.names = [model.names]
        self.stride = model.stride  # expect: DL201


def set_behind_either_wrap(net, hyp, rank, names):
    model = net
    if rank == -1 and torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    if rank != -1:
        model = DDP(model)
    model.hyp = hyp
    label(model, names)
    return LossOfEither(model)


def label(net, names):
    net.names = names


def adapters(transformer, config, optimizer):
    accelerator = Accelerator()
    transformer.requires_grad_(False)
    transformer.add_adapter(config)
    transformer, optimizer = accelerator.prepare(transformer, optimizer)
    return transformer.config  # the adapter requires grad  # expect: DL201


def averaged_beside_the_model(net, optimizer):
    accelerator = Accelerator()
    averaged = EMA(net, beta=0.99)
    averaged, optimizer = accelerator.prepare(averaged, optimizer)
    return averaged.initted  # its `online_model` requires grad  # expect: DL201


class Judged(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(2, 1)
        self.head = nn.Linear(2, 2)

    def judging_weights(self):
        return self.judge.parameters()

    def weights_by_kind(self):
        trained = {name: p for name, p in self.head.named_parameters() if p.requires_grad}
        return list(trained.items())

    def verdict(self, rows):
        return self.judge(rows)


def clipped_in_parts():
    model = DDP(Judged())
    nn.utils.clip_grad_norm_(model.judging_weights(), 1.0)  # expect: DL201
    groups = model.weights_by_kind()  # expect: DL201
    return groups


def judged_in_parts(rows):
    model = DDP(Judged())
    groups = model.weights_by_kind()  # not without what raises below  # expect: DL201
    return groups, model.verdict(rows)  # expect: DL201


def next_step_by_hand(net, rows):
    model = DDP(net)
    return model._update_model_kwargs_for_generation(rows, {})  # expect: DL201


class Pairing(nn.Module):
    def __init__(self, net, decay):
        super().__init__()
        self.net = net
        self.copied = copy.deepcopy(net).requires_grad_(False)
        self.decay = decay


def kept_with_its_model(net, optimizer):
    accelerator = Accelerator()
    pair = Pairing(net, 0.9)
    pair, optimizer = accelerator.prepare(pair, optimizer)
    return pair.decay  # expect: DL201


def freeze_some(models, keep):
    for each in models:
        if each is not keep:
            each.requires_grad_(False)


def frozen_but_for_one(unet, text_encoder, optimizer):
    accelerator = Accelerator()
    freeze_some([unet, text_encoder], text_encoder)
    unet, text_encoder, optimizer = accelerator.prepare(unet, text_encoder, optimizer)
    return text_encoder.dtype  # expect: DL201


def freeze_every(models):
    for each in models:
        each.requires_grad_(False)


def thawed_after_all_were_frozen(unet, text_encoder, optimizer):
    accelerator = Accelerator()
    freeze_every([unet, text_encoder])
    unet.requires_grad_(True)
    unet, text_encoder, optimizer = accelerator.prepare(unet, text_encoder, optimizer)
    kind = text_encoder.dtype
    return unet.dtype, kind  # expect: DL201


class ThawsTheLayers:
    def body_of(self, options):
        body = load_encoder(options)
        body.requires_grad_(False)
        return body

    def low_rank_in(self, body):
        for layer in body.layers:
            layer.down.weight.requires_grad = True

    def go_on_thawed(self, options, optimizer):
        body = self.body_of(options)
        self.low_rank_in(body)
        return self.spread_thawed(body, optimizer)

    def spread_thawed(self, body, optimizer):
        accelerator = Accelerator()
        body, optimizer = accelerator.prepare(body, optimizer)
        return body.config  # expect: DL201


class FreezesOnce:
    def still_body(self, options):
        body = load_encoder(options)
        body.requires_grad_(False)
        return body

    def go_on_still(self, options):
        body = self.still_body(options)
        return self.spread_either(body)

    def go_on_trained(self, options):
        body = load_encoder(options)
        return self.spread_either(body)

    def spread_either(self, body):
        accelerator = Accelerator()
        body = accelerator.prepare(body)
        return body.config  # expect: DL201


class FreezesUnlessOverridden:
    def any_body(self, options):
        body = load_encoder(options)
        body.requires_grad_(False)
        return body

    def go_on_any(self, options):
        body = self.any_body(options)
        return self.spread_any(body)

    def spread_any(self, body):
        accelerator = Accelerator()
        body = accelerator.prepare(body)
        return body.config  # expect: DL201


class TrainsAll(FreezesUnlessOverridden):
    def any_body(self, options):
        return load_encoder(options)


def frozen_by_an_option(encoder, args, optimizer):
    accelerator = Accelerator()
    if not args.train_encoder:
        encoder.requires_grad_(False)
    encoder, optimizer = accelerator.prepare(encoder, optimizer)
    return encoder.config  # expect: DL201


def set_and_lost(model, optimizer, settings, path):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    model.generation_config = settings  # expect: DL201
    inner = accelerator.unwrap_model(model)
    inner.save_pretrained(path)


def several(text_encoders, tokenizers, optimizer):
    accelerator = Accelerator()
    text_encoders = [accelerator.prepare(text_encoder) for text_encoder in text_encoders]
    optimizer = accelerator.prepare(optimizer)
    for text_encoder in text_encoders:
        text_encoder.train()
        print(text_encoder.text_model)  # expect: DL201
    for tokenizer, text_encoder in zip(tokenizers, text_encoders):
        print(tokenizer.model_max_length, text_encoder.get_input_embeddings())  # expect: DL201


class Switch:
    def __init__(self, net, args):
        self.is_distributed = args.distributed
        self.model = DDP(net) if self.is_distributed else net

    def close(self):
        if self.is_distributed:
            self.model.head.use_l1 = True  # expect: DL201
        else:
            self.model.head.use_l1 = True


def asked_before_the_wrap(net, optimizer):
    accelerator = Accelerator()
    model = net
    assert isinstance(model, nn.Sequential)
    model, optimizer = accelerator.prepare(model, optimizer)
    return model.stages  # the question was put to the bare model  # expect: DL201


def by_name_of_the_mode(net, optimizer, args):
    model, optimizer = Accelerator().prepare(net, optimizer)
    if args.parallel_mode.value != "distributed":
        return net.encoder
    return model.encoder  # expect: DL201


def with_the_rest(decoder, unets, optimizers):
    accelerator = Accelerator()
    decoder, *optimizers = list(accelerator.prepare(decoder, *optimizers))
    return decoder.unets, optimizers  # expect: DL201


def two_networks(networks):
    model = DDP(networks)
    return torch.optim.Adam(model.generator.parameters())  # expect: DL201


class Runner:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader

    def fit(self):
        for batch in self.loader:
            self.model(batch).sum().backward()
        self.report()

    def report(self):
        print(self.model.vocabulary)  # expect: DL201


class LongRunner(Runner):
    def __init__(self, model, loader, epochs):
        super().__init__(model, loader)
        self.epochs = epochs

    def card(self):
        return {"layers": self.model.depth}  # expect: DL201


def handed_to_an_object(net, loader):
    runner = LongRunner(DDP(net), loader, epochs=3)
    runner.fit()
    return runner.card()


def sharded_or_not(args, model):
    if args.fsdp:
        model = FullyShardedDataParallel(model)
    else:
        model = DDP(model)
    return [0] * model.width  # expect: DL201


def read_width(net):
    return [net.read_by_two]  # of DataParallel in one call, which another call must not hide  # expect: DL201


def width_in_fsdp(model):
    return read_width(FullyShardedDataParallel(model))


def width_in_fsdp_or_copied(args, model):
    if args.fsdp:
        model = FullyShardedDataParallel(model)
    else:
        model = nn.DataParallel(model)
    return read_width(model)


def into_a_pipeline(unet, optimizer, accelerator, path):
    unet, optimizer = accelerator.prepare(unet, optimizer)
    return StableDiffusionPipeline.from_pretrained(path, unet=unet)  # expect: DL201


def into_a_pipeline_with_a_frozen_part(unet, text_encoder, optimizer, accelerator, path):
    text_encoder.requires_grad_(False)
    unet, text_encoder, optimizer = accelerator.prepare(unet, text_encoder, optimizer)
    return StableDiffusionPipeline.from_pretrained(
        path,
        text_encoder=text_encoder,
        unet=unet,  # expect: DL201
    )


def both_into_a_pipeline(unet, text_encoder, optimizer, accelerator, path):
    unet, text_encoder, optimizer = accelerator.prepare(unet, text_encoder, optimizer)
    return StableDiffusionPipeline.from_pretrained(
        path,
        text_encoder=text_encoder,  # expect: DL201
        unet=unet,
    )


def table_of_layers(batches):
    layers = nn.ModuleDict({"head": nn.Linear(2, 2)})
    optimizer = torch.optim.SGD(layers.parameters())
    layers, optimizer = Accelerator().prepare(layers, optimizer)
    for batch in batches:
        print(layers.head.weight, batch)  # the table is a module, and wrapped  # expect: DL201


def options_of_the_model(model, optimizer):
    options = model.options
    print(options["width"], options.keys())
    model, optimizer = Accelerator().prepare(model, optimizer)
    return model.options["width"]  # expect: DL201


class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 2)

    def __getitem__(self, name):
        return getattr(self, name)


def module_with_keys(optimizer):
    model = Stages()
    print(model["head"])
    model, optimizer = Accelerator().prepare(model, optimizer)
    return model.head  # expect: DL201


class Retriever(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.world_size = dist.get_world_size()
        self.tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")

    def gather_labels(self, labels):
        all_labels = [torch.empty_like(labels) for _ in range(self.world_size)]
        dist.all_gather(all_labels, labels)
        return torch.cat(all_labels)

    def similarity(self, batch):
        return self.encoder(batch)


def train_retriever(encoder, optimizer, batches):
    # tevatron dd06310 src/tevatron/retriever/trainer.py:67: labels have no gradient, and `gather_labels` no parameters
    model = DDP(Retriever(encoder))
    for batch, labels in batches:
        ids = model.tokenizer(batch).input_ids  # expect: DL201
        labels = model.gather_labels(labels)  # expect: DL201
        loss = model(ids) - labels
        loss.mean().backward()
        optimizer.step()


def train_retriever_past_the_wrapper(encoder, optimizer, batches):
    model = DDP(Retriever(encoder))
    for batch, labels in batches:
        labels = model.gather_labels(labels)  # not without the next line  # expect: DL201
        loss = model.similarity(batch) - labels  # shown only: it trains  # expect: DL201
        loss.mean().backward()
        optimizer.step()


def describe_when_told(trainer, verbose):
    if verbose:
        describe_wrapped(trainer)


def describe_wrapped(model):
    model = DDP(model)
    print(model.config)  # expect: DL201


def with_a_name_for_it(net, ddp, prompts):
    # llm.c f1e2ace train_llama3.py:1101: the file's own name for the model inside
    model = DDP(net) if ddp else net
    raw_model = model.module if ddp else model
    tokens = [model.tokenizer(prompt) for prompt in prompts]  # expect: DL201
    return model.generate(tokens)  # expect: DL201


def name_of_the_one_before(net, other):
    model = DDP(net)
    raw_model = model.module
    model = DDP(other)
    return raw_model, model.config  # expect: DL201


class Looking(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        # VILA b760c34 llava/train/llava_trainer.py:932: seven reads in one method
        images = inputs["ids"] == model.tokenizer.image_id  # expect: DL201
        if model.look_close == "after_prompt":  # expect: DL201
            places = None
        elif model.look_close == "after_image":  # expect: DL201
            places = images
        return model(**inputs, places=places)


def maybe_a_model(build, ids):
    model = DDP(build(ids)) if ids else None
    if model is not None:
        print(model.config)  # expect: DL201
        print(model.width)  # expect: DL201
        print(model.height)  # expect: DL201


class Policy:
    def __init__(self, net, reference, accelerator):
        self.net = accelerator.prepare(net)
        self.reference, *_ = deepspeed.initialize(model=reference)

    def answer(self, batches, **options):
        first = self.answer_one(self.reference, *batches, **options)
        return first, self.answer_one(self.net, *batches, **options)

    def answer_one(self, net, *batches, short=False, **options):
        return net.generate(*batches, **options)  # expect: DL201


def in_one_of_two(net, distributed, devices):
    if distributed:
        net = MMDistributedDataParallel(net.cuda())
    else:
        net = MMDataParallel(net.cuda(devices[0]), device_ids=devices)
    return [0] * net.width  # expect: DL201


def refused_for_some(args):
    # lora d84074b training_scripts/train_lora_w_ti.py:655: runs without `train_text_encoder` go on with several
    accelerator = Accelerator()
    if args.train_text_encoder and args.steps > 1 and accelerator.num_processes > 1:
        raise ValueError("one process only")
    encoder = accelerator.prepare(Small())
    return encoder.stride  # expect: DL201


class PreparesInItsConstructor:
    def __init__(self, accelerator, net):
        self.accelerator = accelerator
        self.net = net
        self._prepare()

    def _prepare(self):
        self.net = self.accelerator.prepare(self.net)


class PreparedByTheBase(PreparesInItsConstructor):
    def __init__(self, accelerator, net):
        super().__init__(accelerator, net)
        self.steps = 0

    def speak(self, text):
        return self.net.speak(text)  # expect: DL201


class PreparedByName(PreparesInItsConstructor):
    def __init__(self, accelerator, net):
        PreparesInItsConstructor.__init__(self, accelerator, net)

    def speak(self, text):
        return self.net.speak(text)  # expect: DL201


class PreparedTwice(PreparesInItsConstructor):
    def _prepare(self):
        super(PreparedTwice, self)._prepare()
        self.ready = True

    def speak(self, text):
        return self.net.speak(text)  # expect: DL201


class PreparedLater(PreparesInItsConstructor):
    def __init__(self, accelerator, net):
        self.accelerator = accelerator
        self.net = net

    def fit(self):
        getattr(self, "_prepare")()

    def speak(self, text):
        return self.net.speak(text)  # expect: DL201


def of_a_bare_checkpoint(path, local_rank):
    # DCNv4 4b848f7 classification/utils.py:219: what is read from inside is loaded inside, too.
    net = DDP(Small().to(local_rank))
    state = torch.load(path, map_location="cpu")
    state["head.bias"] = state["head.bias"][: net.head.bias.shape[0]]  # expect: DL201
    print(net.load_state_dict(state, strict=False))


def resumed_by_an_engine(folder, local_rank, whole):
    # InternVideo 3965eef ViCLIP/tasks/shared_utils.py:190: under DDP the line before raises, if any.
    net = DDP(Small().to(local_rank))
    if whole:
        net.load_checkpoint(folder)
        return net.stride  # expect: DL201
    return None


def of_a_bare_checkpoint_once(path, local_rank):
    net = DDP(Small().to(local_rank))
    state = torch.load(path, map_location="cpu")
    width = net.state_dict()["head.weight"].shape[1]
    if len(state["head.bias"]) != len(net.head.bias):  # expect: DL201
        net.head.weight.data.mul_(0.001)  # expect: DL201
        net.head.bias.data.mul_(0.001)  # expect: DL201
    net.load_state_dict(state, strict=False)
    return width


def of_a_checkpoint_that_fits(path, local_rank):
    net = DDP(Small().to(local_rank))
    print(net.stride)  # expect: DL201
    net.load_state_dict(torch.load(path, map_location="cpu"))
    return net.state_dict()


class SharesLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.shared_layers = [(self.layer.weight, 2)]

    def forward(self, batch):
        return self.layer(self.layer(batch))


class ScalesWhatIsShared:
    # ocp 8c3e6d1 src/fairchem/core/trainers/base_trainer.py:768
    def __init__(self):
        self.model = DDP(SharesLayers())

    def step(self, batch):
        self.model(batch).sum().backward()
        if hasattr(self.model, "shared_layers"):  # expect: DL201
            for weight, times in self.model.shared_layers:
                weight.grad.div_(times)


def budget_behind_backward(model, loader, optimizer):
    # Alpaca-CoT bd46c44 peft/examples/int8_training/peft_adalora_whisper_large_training.py:689: it runs no layers
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    for step, batch in enumerate(loader):
        accelerator.backward(model(batch).loss)
        optimizer.step()
        model.update_and_allocate(step)  # expect: DL201
        optimizer.zero_grad()


def twice_in_one_line(model):
    # the same file, line 753
    model = Accelerator().prepare(model)
    model.train()
    model.resize_by_pattern(model.sizes["default"].pattern, "default")  # expect: DL201, DL201


# Correct


class ScalesOfTheModelInside:
    def __init__(self):
        self.model = DDP(SharesLayers())

    def step(self, batch):
        self.model(batch).sum().backward()
        if hasattr(self.model, "shared_layers"):
            shared = self.model.shared_layers
        else:
            shared = self.model.module.shared_layers
        for weight, times in shared:
            weight.grad.div_(times)


class AsksForBoth:
    def __init__(self):
        self.model = DDP(SharesLayers())

    def step(self, batch):
        self.model(batch).sum().backward()
        if hasattr(self.model, "shared_layers"):
            print(self.model.shared_layers)
        if hasattr(self.model, "module"):
            print(self.model.module.shared_layers)

    def shown(self):
        # nothing is trained by it
        if hasattr(self.model, "shared_layers"):
            print(self.model.shared_layers)


class ScalesInOneProcess:
    def __init__(self):
        self.model = SharesLayers()

    def step(self, batch):
        self.model(batch).sum().backward()
        if hasattr(self.model, "shared_layers"):
            for weight, times in self.model.shared_layers:
                weight.grad.div_(times)


def refused_for_all(args):
    accelerator = Accelerator()
    if args.steps > 1 or accelerator.num_processes > 1:
        raise ValueError("one process only")
    encoder = accelerator.prepare(Small())
    return encoder.stride


def refused_where_it_has_none(net, args):
    net = DDP(net)
    if not (hasattr(net, "stride") and args.strided):
        raise ValueError("no stride")
    return net.stride


class PreparedInAnEngine:
    # LLaVA-NeXT llava/train/llava_trainer.py:842, as in transformers' own Trainer.
    def __init__(self, model, accelerator, is_sagemaker_mp_enabled):
        delayed = is_sagemaker_mp_enabled() or self.is_fsdp_xla_enabled or self.is_fsdp_enabled
        self.model = model
        if delayed:
            self.model = accelerator.prepare(self.model)

    def save(self, path):
        self.model.config.save(path)


class PreparedInOneMode:
    # lmms-eval 75571cf lmms_eval/models/simple/illume_plus.py:1762: DDP leaves it bare
    def __init__(self, model):
        accelerator = Accelerator()
        if accelerator.distributed_type == DistributedType.FSDP:
            self.model = accelerator.prepare(model)
        else:
            self.model = accelerator.prepare_model(model, evaluation_mode=True)

    def sample(self, ids):
        return self.model.generate(ids)


def in_two_engines(model):
    accelerator = Accelerator()
    if accelerator.distributed_type in [DistributedType.FSDP, DistributedType.DEEPSPEED]:
        model = accelerator.prepare(model)
    return model.config


def while_it_recomputes(model, batch):
    # ms-swift 3602360 swift/trainers/utils.py:292: False for DDP, which has no such attribute
    model = Accelerator().prepare(model)
    recomputes = getattr(model, "is_gradient_checkpointing", False)
    if recomputes:
        model.gradient_checkpointing_disable()
    output = model(batch)
    if recomputes:
        model.gradient_checkpointing_enable()
    return output


def with_its_own_head(model, batch, args):
    model = DDP(model)
    headed = hasattr(model, "extra_head") and args.headed
    return model.extra_head(batch) if headed else model(batch)


class PreparedInDeepSpeed:
    def __init__(self, model, args):
        accelerator = Accelerator()
        self.model = model
        if args.use_deepspeed:
            self.model = accelerator.prepare(model)

    def save(self, path):
        self.model.config.save(path)


def networks_by_key(config, optimizer, batches):
    # StyleTTS2 5cedc71 train_finetune_accelerate.py:246: a Munch of modules comes back as it went in
    networks = load_networks(config)
    for key in networks:
        networks[key].to(config.device)
    networks, optimizer = Accelerator().prepare(networks, optimizer)
    for batch in batches:
        print(networks.encoder(batch), networks.decoder)


class TwoOptimizers:
    # gigagan-pytorch 0806433 gigagan_pytorch.py:1987: accelerate's optimizers have a `scaler`
    def __init__(self, net, make):
        self.accelerator = Accelerator()
        self.net = net
        self.g_opt = make(self.net.trainable())
        self.steps = make(self.net.parameters(), lr=0.1)
        (
            self.net,
            self.g_opt,
            self.steps,
        ) = self.accelerator.prepare(self.net, self.g_opt, self.steps)

    def scalers(self):
        return self.g_opt.scaler, self.steps.scaler


def networks_by_name(optimizer):
    networks = Munch(encoder=nn.Linear(2, 2))
    networks, optimizer = Accelerator().prepare(networks, optimizer)
    return networks.encoder


def networks_by_items(models, optimizer):
    models, optimizer = Accelerator().prepare(models, optimizer)
    print([name for name, _ in models.items()])
    return models.encoder


@dataclass
class Pair:
    one: nn.Module
    other: nn.Module


def in_a_prepared_record(optimizer):
    pair, optimizer = Accelerator().prepare(Pair(nn.Linear(2, 2), nn.Linear(2, 2)), optimizer)
    return pair.one


def in_a_prepared_list(one, other):
    models = Accelerator().prepare([one, other])
    return models[0].config, models[1].config


class Networks:
    def __init__(self, networks):
        self.accelerator = Accelerator()
        self.networks = self.accelerator.prepare(networks)

    def parameters(self):
        return [p for key in self.networks for p in self.networks[key].parameters()]

    def encode(self, batch):
        return self.networks.encoder(batch)


def save_under_zero3(trainer, path):
    # MedicalGPT 2f1008c training/pretraining.py:309: an engine alone has it
    torch.save(trainer.model_wrapped._zero3_consolidated_16bit_state_dict(), path)


def saves(args, trainer, path):
    if is_deepspeed_zero3_enabled():
        save_engine(trainer, path)
    else:
        trainer.save_model(path)


def save_engine(trainer, path):
    trainer.model_wrapped.save_everything(path)


class Engines:
    def __init__(self, net, reference):
        self.net, *_ = deepspeed.initialize(model=net)
        self.reference, *_ = deepspeed.initialize(model=reference)

    def answer(self, batches, **options):
        return self.answer_one(*batches, net=self.net), self.answer_one(*batches, **options)

    def answer_one(self, *batches, net=None, **options):
        return net.generate(*batches, **options)


def asks_which_of_the_two(args, model, norm):
    if args.fsdp:
        model = FullyShardedDataParallel(model)
    else:
        model = DDP(model)
    if args.fsdp:
        model.clip_grad_norm_(norm)
        return model.width
    return model.module.width


def compiled_or_sharded(args, model):
    if args.fsdp:
        model = FullyShardedDataParallel(model)
    else:
        model = torch.compile(model)
    return model.width


class Replacing:
    def __init__(self, model):
        self.model = model

    def strip(self):
        self.model = self.model.module

    def report(self):
        return self.model.vocabulary


def stripped_before(net):
    replacing = Replacing(DDP(net))
    replacing.strip()
    return replacing.report()


class BareRunner:
    def __init__(self, model):
        self.model = model

    def report(self):
        return self.model.vocabulary


def bare_in_an_object(net):
    model = DDP(net)
    model(torch.zeros(1)).sum().backward()
    return BareRunner(net).report()


class Asking:
    def __init__(self, model):
        self.model = model.module if isinstance(model, DDP) else model
        self.wrapped = model

    def report(self):
        return self.model.vocabulary, self.wrapped.module.vocabulary


def unwrapped_in_the_constructor(net):
    return Asking(DDP(net)).report()


def rest_of_the_optimizers(decoder, optimizers):
    accelerator = Accelerator()
    decoder, *optimizers = accelerator.prepare(decoder, *optimizers)
    first, *others = optimizers
    print(first.param_groups, [other.defaults for other in others])
    return accelerator.unwrap_model(decoder).unets


def all_at_once(models):
    accelerator = Accelerator()
    first, *others = accelerator.prepare(*models)
    return first.config, others  # whatever is in the list


def asked_behind_the_wrap(net, optimizer):
    model, optimizer = Accelerator().prepare(net, optimizer)
    assert isinstance(model, nn.Sequential)  # one process only
    return model.stages


def mode_of_one_process(net, optimizer, args):
    model, optimizer = Accelerator().prepare(net, optimizer)
    if args.parallel_mode.value != "distributed":
        return model.encoder
    return model.module.encoder


def generator_of_the_loader(model, optimizer, loader):
    prepared = [Accelerator().prepare(each) for each in (loader, loader)]
    return prepared[0].generator


def several_loaders(loaders, models):
    accelerator = Accelerator()
    loaders = accelerator.prepare(loaders)
    models = [accelerator.prepare(model) for model in models]
    for batch, model in zip(loaders, models):
        print(batch.shape, accelerator.unwrap_model(model).config)
    for batch in loaders:
        print(batch.shape)


def set_on_the_model(model, optimizer, settings, path):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    inner = accelerator.unwrap_model(model)
    inner.generation_config = settings
    inner.save_pretrained(path)


def set_before_the_wrap(model, optimizer, settings, path):
    accelerator = Accelerator()
    model.generation_config = settings
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.unwrap_model(model).save_pretrained(path)


def set_behind_the_save(model, optimizer, settings, path):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.unwrap_model(model).save_pretrained(path)
    model.generation_config = settings


def build_encoder():
    clip = load_encoder("ViT-L-14")
    clip.eval()
    clip.requires_grad_(False)
    return clip, tokenizer_of(clip.name)


def frozen(model, teacher, optimizer):
    accelerator = Accelerator()
    encoder, tokenizer = build_encoder()
    teacher = teacher.eval().requires_grad_(False)
    model, encoder, optimizer = accelerator.prepare(
        model, encoder, optimizer
    )
    teacher = accelerator.prepare_model(teacher)
    return tokenizer(encoder.attn_mask), teacher.config


def freeze_all(models):
    for each in models:
        if each is not None:
            each.requires_grad_(False)


def freeze_one(net):
    for parameter in net.parameters():
        parameter.requires_grad = False


def frozen_among_others(unet, text_encoder, vae, optimizer):
    accelerator = Accelerator()
    freeze_all([vae, text_encoder])
    unet, text_encoder, vae, optimizer = accelerator.prepare(unet, text_encoder, vae, optimizer)
    return text_encoder.dtype, vae.config


def frozen_in_a_loop(unet, text_encoder, vae, optimizer):
    accelerator = Accelerator()
    for part in (vae, text_encoder):
        freeze_one(part)
    unet, text_encoder, vae, optimizer = accelerator.prepare(unet, text_encoder, vae, optimizer)
    return text_encoder.dtype, vae.config


class Side(nn.Module):
    """Layers of its own, which take the place of the calls of another model's."""

    def __init__(self, body):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(len(body.layers))])

    def lean_on(self, body):
        for own, layer in zip(self.layers, body.layers):
            layer.forward = own.forward


class FreezesInAnotherMethod:
    # musubi-tuner 30c658c src/musubi_tuner/training/trainer_base.py:1520: loaded and frozen, handed on, prepared
    def frozen_body(self, options):
        body = load_encoder(options)
        body.requires_grad_(False)
        return body

    def side_of(self, body):
        side = Side(body)
        side.lean_on(body)
        return side

    def go_on_frozen(self, options, swaps):
        body = self.frozen_body(options)
        side = self.side_of(body)
        return self.spread_frozen(body, side, swaps)

    def spread_frozen(self, body, side, swaps):
        accelerator = Accelerator()
        if swaps:
            body = accelerator.prepare(body, device_placement=[False])
        else:
            body = accelerator.prepare(body)
        side = accelerator.prepare(side)
        return body.config


def frozen_one_by_one(reference):
    accelerator = Accelerator()
    for parameter in reference.parameters():
        parameter.requires_grad = False
    reference = accelerator.prepare(reference)
    return reference.config


class Averaged(nn.Module):
    def __init__(self, net, decay=0.999, device=None):
        super().__init__()
        self.copied = copy.deepcopy(net)
        self.copied.eval()
        for weight in self.copied.parameters():
            weight.detach_()
        self.decay = decay
        self.device = device

    def update(self, net):
        pass


class Distilling:
    def __init__(self, net, optimizer, **settings):
        self.accelerator = Accelerator()
        self.net = net
        self.average = EMA(net, include_online_model=False, **settings)
        self.teacher = Averaged(net)
        self.average, self.teacher, self.net, self.optimizer = self.accelerator.prepare(
            self.average, self.teacher, self.net, optimizer
        )

    def step(self):
        if self.average.initted and self.teacher.decay < 1:
            self.average.update_model_with_ema()
            self.teacher.update(self.net)


def copied_and_detached(net, optimizer):
    accelerator = Accelerator()
    average = copy.deepcopy(net)
    for weight in average.parameters():
        weight.detach_()
    net, average, optimizer = accelerator.prepare(net, average, optimizer)
    return average.config


def unwrapped(model, optimizer):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    net = accelerator.unwrap_model(model)
    return net.config, accelerator.unwrap_model(model).generate()


def the_wrapper_itself(net, batch):
    model = DDP(net)
    loss = model(batch).mean()
    with model.no_sync():
        loss.backward()
    model.train()
    model.module.config.use_cache = False
    return model.state_dict(), model.device, model.module.config, list(model.parameters())


def before_the_wrap(net):
    size = net.config.hidden_size
    model = DDP(net)
    return model, size, net.config


def forwarding(first, second, third):
    sharded = FullyShardedDataParallel(first)
    in_place = fully_shard(second)
    engine, _, _, _ = deepspeed.initialize(model=third)
    return sharded.config, in_place.config, engine.config, torch.compile(first).config


def asked_first(net):
    model = DDP(net)
    if hasattr(model, "config"):
        return model.config
    if hasattr(model, "frozen_head") and model.peft_type:
        return model.forward_hydra()  # asked of a model that has the one
    if hasattr(model, "module"):
        return model.module.config
    name = getattr(model, "name", "model")
    try:
        return name, model.classes
    except AttributeError:
        return name, None


def bare_where_nothing_is_wrapped(net):
    model = Accelerator().prepare(net)
    return model.config if not hasattr(model, "module") else model.module.config


def by_class(net, distributed):
    model = DDP(net) if distributed else net
    return model.module.config if isinstance(model, DDP) else model.config


def by_launch(net, args):
    model = DDP(net) if args.distributed else net
    if not args.distributed:
        return model.config
    return model.module.config


def loaders_and_optimizers(model, optimizer, loader, scheduler):
    accelerator = Accelerator()
    prepared = accelerator.prepare(model, optimizer, loader, scheduler)
    model, optimizer, loader, scheduler = prepared
    print(len(loader.dataset), optimizer.param_groups, scheduler.get_last_lr())


def only_for_evaluation(reference):
    accelerator = Accelerator()
    reference = accelerator.prepare_model(reference, evaluation_mode=True)
    return reference.generate()


def two_names(net):
    model_without_ddp = net
    model = DDP(net)
    model(torch.zeros(1))
    return model_without_ddp.config


class Early(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.size = self._measure()
        self.net = DDP(self.net)

    def _measure(self):
        return self.net.config.hidden_size


class InTwoSteps:
    def __init__(self, net):
        self.net = net
        self._check()
        self._wrap()

    def _check(self):
        assert self.net.config.hidden_size > 0

    def _wrap(self):
        self.net = DDP(self.net)


class Own(Trainer):
    def report(self):
        return self.model.config  # Trainer keeps the model itself there


class Configured(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.options = cfg if isinstance(cfg, dict) else read_options(cfg)
        self.classes = self.options.get("classes", 10)


class ConfiguredFurther(Configured):
    def __init__(self, cfg):
        super().__init__(cfg)
        if isinstance(cfg, (dict, list)):
            print(cfg.copy())


def build_again(model):
    model = DDP(model)
    return ConfiguredFurther(model)  # a path, a dict or a model that is there already


def one_process_is_asserted(net, several, quick):
    if several:
        net = DDP(net)
    if quick:
        assert not several and quick > 1, "not for several processes"
        net.head.quick = True
    return net


def one_option_wraps_and_reads(net, config):
    if config["engine"] == "torch_ddp":
        net = DDP(net)
    if config["engine"] == "deepspeed":
        net.gradient_boundary()
    return net


def replaced_in_a_dict(net):
    parts = {"net": DDP(net)}
    parts["net"] = net
    return parts["net"].config


def updated_dict(net, others):
    parts = {"net": DDP(net)}
    parts.update(others)
    return parts["net"].config


def bare_in_a_record(net):
    state = State(net)
    return state.model.config


def wrapped_by_the_other_option(nets, options):
    if options.engine:
        return nets
    return [DDP(net) for net in nets]


def engine_of_the_first(nets, options):
    model = wrapped_by_the_other_option(nets, options)
    if options.engine:
        engine, *_ = deepspeed.initialize(model=model[0])
        model = [engine]
    model = model[0]
    model.start_of(options)  # on whatever the engine passes it on to
    return model._config


def of_nobody(name, local_rank, path):
    # Latte b27c24a train.py:188: no class of the program, nor nn.Module, has the two: they fail on one process too
    net = DDP(SIZES[name]().to(local_rank))
    net.load_state(path)
    net.rewind(path)


def of_the_accelerator(net, path):
    net = DDP(net)
    net.load_state(path)


def by_name(networks, data):
    # VMamba 2ed52ea analyze/utils.py:690: the dict is no model, what is in it is wrapped
    networks = {name: DDP(network.cuda()) for name, network in networks.items()}
    print(networks.keys())
    for network in networks.values():
        network(data)
    ones = [DDP(network) for network in networks]
    ones.append(None)


def into_a_pipeline_unwrapped(unet, optimizer, accelerator, path):
    unet, optimizer = accelerator.prepare(unet, optimizer)
    return StableDiffusionPipeline.from_pretrained(path, unet=accelerator.unwrap_model(unet))


class PreparesAlone(PreparesInItsConstructor):
    """Amphion d3de90f models/tts/naturalspeech2/ns2_trainer.py: the base's constructor is not run."""

    def __init__(self, accelerator, net, optimizer):
        self.net, self.optimizer = accelerator.prepare(net, optimizer)

    def speak(self, text):
        return self.net.module.speak(text)


class PreparesNothing(PreparesInItsConstructor):
    def __init__(self, net):
        self.net = net

    def speak(self, text):
        return self.net.speak(text)


class PreparesOtherwise(PreparesInItsConstructor):
    def _prepare(self):
        self.loader = self.accelerator.prepare(self.loader)

    def speak(self, text):
        return self.net.speak(text)


class BuildsBeforeItPrepares:
    def __init__(self, accelerator, net):
        self.net = net
        self.optimizer = self.make_optimizer()
        self.net = accelerator.prepare(self.net)

    def make_optimizer(self):
        return None


class BuildsBeforeTheBasePrepares(BuildsBeforeItPrepares):
    def make_optimizer(self):
        return torch.optim.AdamW(self.net.groups_of_layers())


def channels_of(net, target):
    # croco d7de070 stereoflow/engine.py:191: who brings the wrapped model brings a target, too.
    if target is not None:
        return target.shape[1]
    return net.head_channels


def measured(net, batches):
    net = DDP(net)
    for images, target in batches:
        target = target.to("cuda", non_blocking=True)
        print(channels_of(net, target), net(images))


def shown(net, images):
    return channels_of(net, None), net(images)


def width_of(net, target=None):
    if target is not None:
        return target.shape[2]
    return net.head_width  # expect: DL201


def measured_alone(net, batches):
    net = DDP(net)
    for images in batches:
        print(width_of(net), net(images))


def one_of_two_wrappers(args, model: torch.nn.Module, batch):
    # LoRA c4593f0 examples/NLU/examples/legacy/question-answering/run_squad.py:247: a launcher sees to it that n_gpu is 1
    if args.n_gpu > 1:
        model = torch.nn.DataParallel(model)
    if args.local_rank != -1:
        model = DDP(model, device_ids=[args.local_rank])
    model(batch).mean().backward()
    kept = model.module if hasattr(model, "module") else model
    kept.save_pretrained(args.out)


def of_the_engine(args, net, folder):
    # InternVideo 3965eef InternVideo1/Pretrain/ViCLIP/tasks/shared_utils.py:190: a folder is a checkpoint of the engine's
    if args.several:
        net = DDP(net)
    if args.engine:
        net, *_ = deepspeed.initialize(args=args, model=net)
    if args.resume:
        net.load_checkpoint(folder)
        return net.global_steps, net.skipped_steps
    return 0, 0


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.micro_steps = 0


def counted_by_the_model(rank):
    net = DDP(Counting().to(rank))
    return net.micro_steps  # expect: DL201


def name_of_both(net):
    net = DDP(net)
    return net.num_experts  # expect: DL201


class Scored(nn.Module):
    # ScoreVAE c4e4ba6 models/BeatGANsUNet.py:206: unwrapped, it would train without the others, and no longer fail
    def forward(self, batch):
        return batch

    def get_scorer(self, scale):
        def scorer(batch):
            return self.forward(batch) / scale

        return scorer


def trained_by_what_it_gives(rank, batch):
    net = DDP(Scored().to(rank))
    net.get_scorer(2.0)(batch).sum().backward()  # expect: DL201


class GivenByName:
    # ChatGLM-Efficient-Tuning 3c12daa src/glmtuner/tuner/ppo/trainer.py:45: a collator comes back as it went in.
    def __init__(self, **given):
        self.accelerator = Accelerator()
        self.collate = self.accelerator.prepare(given["data_collator"])
        self.net = self.accelerator.prepare(given["net"])

    def step(self, ids):
        mask = self.collate.get_attention_masks(ids)
        return self.net.get_position_ids(ids, mask)  # expect: DL201


class EitherEngine:
    """align-anything 3f9decc align_anything/trainers/base/supervised_trainer.py: each trainer calls one of the two."""

    def start_accelerate(self):
        self.net.save_memory()
        self.net = self.accelerator.prepare(self.net)

    def start_deepspeed(self):
        self.net, *_ = deepspeed.initialize(model=self.net, config=self.config)
        self.net.save_memory()

    def save_engine(self, path):
        self.net.save_pretrained(path)

    def save_prepared(self, path):
        self.net.save_pretrained(path)  # expect: DL201


class ByDeepSpeed(EitherEngine):
    def __init__(self, config):
        self.config = config
        self.load()
        self.start_deepspeed()

    def load(self):
        self.net, self.tokenizer = load_both(self.config)

    def save(self, path):
        self.save_engine(path)


class ByAccelerate(EitherEngine):
    def __init__(self, config):
        self.config, self.accelerator = config, Accelerator()
        self.load()
        self.start_accelerate()

    def load(self):
        self.net, self.tokenizer = load_both(self.config)

    def save(self, path):
        self.save_prepared(path)


class PreparesAnew:
    def __init__(self, net):
        self.net, self.accelerator = net, Accelerator()
        for _ in range(2):
            self.start_over()

    def first(self):
        self.net = self.accelerator.prepare(self.net)

    def start_over(self):
        self.net.save_memory()  # expect: DL201
        self.first()


class OfADict:
    def __init__(self, models, options):
        self.models = models
        self.options = options

    def sample(self, batch):
        return self.models["generator"].synthesise(batch)  # expect: DL201

    def score(self, batch):
        return self.models["critic"].judge(batch)

    def step(self, batch):
        return self.models["generator"](batch)


def trains_a_dict(generator, critic, options):
    models = {"generator": generator, "critic": critic}
    models["generator"] = DDP(models["generator"])
    trainer = OfADict(models, options)
    trainer.step(1)
    trainer.score(1)
    return trainer.sample(1)


def by_apex(net):
    from apex.parallel import DistributedDataParallel

    net = DistributedDataParallel(net)
    net.disable_allreduce()
    return net.vocabulary  # expect: DL201


class TrainsSeveral:
    # SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:216: a dict has methods of its own
    def __init__(self, critics):
        self.accelerator = Accelerator()
        self.critics = critics
        self.critics = {name: self.accelerator.prepare(each) for name, each in critics.items()}
        self.stages = [self.accelerator.prepare(each) for each in critics.values()]

    def save(self):
        self.stages.append(None)
        return dict(self.critics.items()), list(self.critics.values())

    def read(self):
        for stage in self.stages:
            print(stage.vocabulary)  # of an attribute, it is not known which are wrapped


class PutsNamesOn:
    # s3prl ec8064b s3prl/downstream/runner.py:115: the names are not known, and all of them are on the wrapper
    def __init__(self, net, names):
        net = DDP(net)
        for name in names:
            setattr(net, name, getattr(net.module, name))
        self.net = net

    def loader(self):
        return self.net.vocabulary


def has_method(thing, name):
    return name in dir(thing) and callable(getattr(thing, name))


def asks_a_helper(net):
    # coqui's Trainer 7704b0f trainer/trainer.py:1335
    net = DDP(net)
    if has_method(net, "vocabulary"):
        return net.vocabulary
    return None


def told_by_class(net, exported):
    # retinanet-examples 65e6310 odtk/infer.py:23
    if not exported:
        net = DDP(net)
    backend = "torch" if isinstance(net, DDP) else "exported"
    return net.vocabulary if backend == "exported" else None


class Encoding:
    def __init__(self, net):
        self.net = net

    def on_all_devices(self):
        self.net = nn.DataParallel(self.net)


class Answering:
    # DoRA 7e2f10a image_video_text_understanding/CLIP-ViL/src/tasks/gqa_model.py:28: others wrap it later
    def __init__(self, net):
        self.encoding = Encoding(net)
        self.words = self.encoding.net.vocabulary


def answers(net):
    answering = Answering(net)
    answering.encoding.on_all_devices()
    return answering.words


class AnsweringOnAll:
    def __init__(self, net):
        self.encoding = Encoding(net)
        self.encoding.on_all_devices()
        self.words = self.encoding.net.vocabulary  # expect: DL201


def by_option(options, net):
    # SLAM-LLM a68e78f examples/s2s/utils/cosyvoice/utils/train_utils.py:146
    if options.engine == "torch_ddp":
        net = DDP(net)
    if options.engine == "deepspeed":
        net, _, _, _ = deepspeed.initialize(model=net)
    return net.module.vocabulary


def in_deepspeed_alone(net, lr):
    # LongVA f4c8781 text_extend/text_extend_train.py:109: no other launch replaces the stand-in
    accelerator = Accelerator()
    optimizer = DummyOptim(net.parameters(), lr=lr)
    net, optimizer = accelerator.prepare(net, optimizer)
    return net.vocabulary


def each_in_turn(nets, distributed):
    # AVID-CMA 4538e40 utils/main_utils.py:112: of one model or of several
    alone = not isinstance(nets, list)
    if alone:
        nets = [nets]
    for i in range(len(nets)):
        if distributed:
            nets[i] = DDP(nets[i])
        else:
            nets[i] = nets[i].cuda()
    if alone:
        nets = nets[0]
    return nets, distributed


def reads_what_was_wrapped_in_turn(net, distributed):
    net, distributed = each_in_turn(net, distributed)
    return net.vocabulary  # expect: DL201


def methods_of_the_list(nets, extra):
    for i in range(len(nets)):
        nets[i] = DDP(nets[i])
    nets.append(extra)
    return nets.index(extra), nets[0].state_dict()


def in_deepspeed_or_not(net, lr, engine):
    accelerator = Accelerator()
    if engine:
        optimizer = DummyOptim(net.parameters(), lr=lr)
    net, optimizer = accelerator.prepare(net, optimizer)
    return net.vocabulary  # expect: DL201


class OnlyInside(nn.Module):
    # spear-tts-pytorch 0e6a638 spear_tts_pytorch/trainer.py:224: the net inside can write, this one can not
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)


def what_the_model_lacks(net, optimizer):
    around = OnlyInside(net)
    around, optimizer = Accelerator().prepare(around, optimizer)
    return around.head(1), net.head(1)


class ForOneKind:
    """Retrieval-based-Voice-Conversion-WebUI 4338f12 tools/pymss/separator.py:1637: the wrap is of the other kinds."""

    def __init__(self, kind, device_ids):
        self.kind = kind
        self.device_ids = device_ids
        self.net = self.load()

    def load(self):
        if self.kind == "spectrum":
            return Whole()
        net = Whole()
        if len(self.device_ids) > 1:
            net = nn.DataParallel(net, self.device_ids)
        return net

    def separate(self, mix):
        if self.kind == "spectrum":
            return self.net.vocabulary
        return self.net(mix)


def separate_all(kind, device_ids, mixes):
    separator = ForOneKind(kind, device_ids)
    return [separator.separate(mix) for mix in mixes]


class LayersByRate(Trainer):
    """VITA-Audio 0abaf17 tools/trainer_v4_48_3.py:430, as transformers 4.48.3 has it: bare wherever there is DDP."""

    def create_optimizer(self):
        opt_model = self.model_wrapped if is_sagemaker_mp_enabled() else self.model
        return opt_model.config.num_hidden_layers


class LayersOfTheWrapped(Trainer):
    def log_layers(self):
        opt_model = self.model_wrapped if self.args.of_wrapped else self.model
        return opt_model.config.num_hidden_layers  # expect: DL201


def wraps_for_several(net, args):
    net = net.cuda()
    if args.distributed:
        net = DDP(net, device_ids=[args.gpu])
    if args.dp:
        net = nn.DataParallel(net, device_ids=args.multigpu)
    for _ in range(args.epochs):
        reads_where_one_of_two_unwraps(net, args)
        reads_where_both_arms_are_written(net, args)
        reads_where_two_flags_unwrap(net, args)
        reads_where_another_flag_unwraps(net, args)
        reads_what_is_taken_off_in_place(net, args)


def reads_where_one_of_two_unwraps(net, args):
    # EasyNLP a4ee956 examples/agree/training/train_all.py:296: true wherever one of the two wraps is
    bare = net.module if args.distributed or args.dp else net
    return bare.vocabulary


def reads_where_both_arms_are_written(net, args):
    if not (args.distributed or args.dp):
        bare = net
    else:
        bare = net.module
    return bare.vocabulary


def reads_what_is_taken_off_in_place(net, args):
    if args.distributed or args.dp:
        net = net.module
    return net.vocabulary


def reads_where_two_flags_unwrap(net, args):
    bare = net.module if args.distributed and args.dp else net
    return bare.vocabulary  # expect: DL201


def reads_where_another_flag_unwraps(net, args):
    bare = net.module if args.averaged else net
    bare = bare if args.distributed else net
    return bare.vocabulary  # expect: DL201


def prepares_for_fsdp(net, sharded):
    # prismer 4f27ab3 train_caption.py:60: each launch of several processes is in FSDP, which passes on
    if sharded:
        plugin = FullyShardedDataParallelPlugin()
        accelerator = Accelerator(fsdp_plugin=plugin)
        net = accelerator.prepare(net)
    else:
        accelerator = Accelerator()
    length = len(net.vocabulary)
    return accelerator, length


def prepares_for_fsdp_or_not(net, sharded):
    if sharded:
        accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())
    else:
        accelerator = Accelerator()
    net = accelerator.prepare(net)
    return net.vocabulary  # expect: DL201


def prepares_with_a_plugin_that_may_be_none(net, sharded):
    plugin = FullyShardedDataParallelPlugin() if sharded else None
    net = Accelerator(fsdp_plugin=plugin).prepare(net)
    return net.vocabulary  # expect: DL201


class StepsAsThePluginSays:
    """EasyNLP a4ee956 examples/BeautifulPrompt/beautiful_prompt/trainer.py:49: no launch but DeepSpeed's comes past it."""

    def __init__(self, net):
        self.accelerator = Accelerator()
        plugin = self.accelerator.state.deepspeed_plugin
        self.steps = plugin.gradient_accumulation_steps
        self.net = self.accelerator.prepare(net)

    def words(self):
        return self.net.vocabulary


class StepsAsThePluginSaysIfThereIsOne:
    def __init__(self, net):
        self.accelerator = Accelerator()
        plugin = self.accelerator.state.deepspeed_plugin
        self.steps = plugin.gradient_accumulation_steps if plugin is not None else 1
        self.net = self.accelerator.prepare(net)

    def words(self):
        return self.net.vocabulary  # expect: DL201


class Clipped(nn.Module):
    """A wrapper of the program's own, around DDP or a bare model."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.words = net

    def look_twice(self):
        return self.words


def clipped(net):
    # opacus 4d0ebc8 opacus/privacy_engine.py:183: what is of the program's class is no DDP
    if isinstance(net, Clipped):
        return net
    return Clipped(net)


def looks_twice_at_what_is_clipped(net):
    net = DDP(net)
    net = clipped(net)
    return net.look_twice()


def bare_of_clipped(net):
    if isinstance(net, Clipped):
        return net.net
    return net


def looks_at_what_is_not_clipped(net):
    net = DDP(net)
    net = bare_of_clipped(net)
    return net.vocabulary  # expect: DL201


def compiled_in_ddp(net, args):
    if args.compile:
        net = torch.compile(net)
    net = DDP(net)
    if args.compile:
        return net.vocabulary  # expect: DL201
    return net


def compiled_or_in_ddp(net, args):
    if args.compile:
        net = torch.compile(net)
    else:
        net = DDP(net)
    if args.compile:
        return net.vocabulary
    return net


def works_alone_or_spawned(gpu, args):
    # AVID-CMA 4538e40 main-avid.py:78: the call for one process says nothing of the processes that are spawned
    net = DDP(Small().cuda(gpu))
    return net.head  # expect: DL201


def starts_them(args):
    if args.multiprocessing_distributed:
        torch.multiprocessing.spawn(works_alone_or_spawned, nprocs=8, args=(args,))
    else:
        works_alone_or_spawned(args.gpu, args)


def works_in_one_mode(net):
    net = Accelerator().prepare(net)
    return net.vocabulary


def works_in_the_mode(net, args):
    if args.deepspeed:
        works_in_one_mode(net)


def wraps_as_one_option_says(net, args):
    if args.averages:
        net = DDP(net)
    return net


def reads_what_is_handed_back(net, args):
    net = wraps_as_one_option_says(net, args)
    return net.vocabulary  # expect: DL201


class Coarse(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = nn.Linear(2, 2)


def set_on_the_class_of_the_wrapper():
    # modulus 878fd04 examples/cfd/external_aerodynamics/aero_graph_net/train.py:98
    dist.init_process_group("nccl")
    coarse = DistributedDataParallel(Coarse())
    type(coarse).bare_coarse = lambda wrapped: wrapped.module
    print(coarse.bare_coarse().grid)


def saves_what_is_compiled_in_ddp(path, compiled):
    # UniTok bb8012e eval/llamagen/autoregressive/train/train_c2i.py:258: what `torch.compile` keeps is behind DDP
    net = Coarse()
    if compiled:
        net = torch.compile(net)
    net = DDP(net)
    if compiled:
        torch.save(net._orig_mod.state_dict(), path)  # expect: DL201
    else:
        torch.save(net.module.state_dict(), path)


def saves_what_is_in_ddp_compiled(path):
    net = torch.compile(DDP(Coarse()))
    torch.save(net._orig_mod.module.state_dict(), path)


def saves_what_is_behind_both(path):
    net = DDP(torch.compile(Coarse()))
    torch.save(net.module._orig_mod.state_dict(), path)


def samples_by_ddpm(config):
    # PixArt-alpha cac2fd3 train_latents.py:162: the name of a sampler says nothing of a wrapper
    assert config.sampler in ("iddpm", "dpm-solver")
    net = Accelerator().prepare(Coarse())
    return net.grid  # expect: DL201


def samples_in_ddp(config):
    assert config.mode != "ddp"
    net = Accelerator().prepare(Coarse())
    return net.grid


class Sized(nn.Module):
    words_at_once = 8


def looks_at_what_one_call_puts_elsewhere(coder, net, args, accelerator):
    accelerator.wait_for_everyone()
    # VideoX-Fun 804a425 scripts/qwenimage_instantx/train_control.py:201: the call with one argument too many comes
    # nowhere, and `args` is what the command line says
    return args.words_at_once


def calls_with_one_too_many(coder):
    args = argparse.ArgumentParser().parse_args()
    accelerator = Accelerator()
    net = accelerator.prepare(Sized())
    looks_at_what_one_call_puts_elsewhere(coder, net, args, accelerator)
    looks_at_what_one_call_puts_elsewhere(coder, coder, net, args, accelerator)


def reads_what_comes_with_others(accelerator, net, *rest):
    accelerator.wait_for_everyone()
    return net.words_at_once  # expect: DL201


def hands_over_more_than_is_named():
    accelerator = Accelerator()
    net = accelerator.prepare(Sized())
    reads_what_comes_with_others(accelerator, net, 1, 2, 3)


def words_of_either(accelerator, either):
    accelerator.wait_for_everyone()
    return either.words_at_once  # expect: DL201


def words_as_the_command_line_says():
    return argparse.ArgumentParser().parse_args()


def hands_over_settings_and_a_model():
    # of settings there is nothing to unwrap: accelerate's `unwrap_model()` raises AttributeError
    args = words_as_the_command_line_says()
    accelerator = Accelerator()
    net = accelerator.prepare(Sized())
    words_of_either(accelerator, args)
    words_of_either(accelerator, net)


class PreparesInSteps:
    def __init__(self, mode):
        self.mode = mode
        self.start()
        self.net = Sized()
        self.collect()
        self.prepare()

    def start(self):
        self.accelerator = Accelerator()

    def collect(self):
        # LTX-Video-Trainer 31b1273 src/ltxv_trainer/trainer.py:489
        if self.mode == "words":
            self.count()

    def count(self):
        return self.net.words_at_once

    def prepare(self):
        prepare = self.accelerator.prepare
        self.net = prepare(self.net)
        print(self.net.words_at_once)  # expect: DL201


def prepares_in_steps():
    PreparesInSteps("words")


def frozen_one_by_one(encoders, flags):
    # Step1X-Edit 570eba6 library/kohya_trainer.py:857
    accelerator = Accelerator()
    for number, encoder in enumerate(encoders):
        encoder.requires_grad_(False)
        print(number, encoder)
    encoders = [
        (accelerator.prepare(encoder) if flag else encoder)
        for encoder, flag in zip(encoders, flags)
    ]
    words_of_encoder(accelerator, encoders[0])


def words_of_encoder(accelerator, encoder):
    accelerator.wait_for_everyone()
    return encoder.words_at_once


def thawed_one_by_one(encoders):
    accelerator = Accelerator()
    for encoder in encoders:
        encoder.requires_grad_(False)
        encoder.head.requires_grad_(True)
    encoders = [accelerator.prepare(encoder) for encoder in encoders]
    words_of_thawed(accelerator, encoders[0])


def words_of_thawed(accelerator, encoder):
    accelerator.wait_for_everyone()
    return encoder.words_at_once  # expect: DL201


class ReadsInside:
    """open-pi-zero c3df7fb src/agent/train.py:287: the function around the read has taken the wrapper off."""

    def __init__(self, settings):
        self.several = settings.several
        self.net = Wordy()
        if settings.compiled:
            self.net = torch.compile(self.net)
        if self.several:
            self.net = DDP(self.net)

    def run(self, loader):
        if self.several:
            net = self.net.module
        else:
            net = self.net

        def cut(batch):
            dist.barrier()
            return batch[: net.vocabulary]

        for batch in loader:
            cut(batch)

    def run_as_another_flag_says(self, loader, bare):
        if bare:
            net = self.net.module
        else:
            net = self.net

        def cut(batch):
            dist.barrier()
            return batch[: net.vocabulary]  # expect: DL201

        for batch in loader:
            cut(batch)


class Wordy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.vocabulary = 3

    def forward(self, batch):
        return self.layer(batch)


def asked_by_mmcv(model, cfg, distributed):
    # mmfewshot af4fad5 mmfewshot/detection/apis/test.py:172
    if distributed:
        model = MMDistributedDataParallel(model)
    else:
        model = MMDataParallel(model, device_ids=cfg.gpu_ids)
    if is_module_wrapper(model):
        names = model.module.vocabulary
    else:
        names = model.vocabulary
    return names


def asked_by_mmcv_and_read_from_the_wrapper(model):
    model = MMDistributedDataParallel(model)
    if is_module_wrapper(model):
        return model.vocabulary  # expect: DL201
    return model.depth


class WrapsForARank:
    def __init__(self, place=-1):
        self.net = Wordy()
        if place != -1:
            self.net = DDP(self.net, device_ids=[place])

    def step(self, batch):
        return self.net(batch).sum()

    def show(self, batch):
        # EMA-VFI 75b6f6a Trainer.py:60
        def cut(part):
            return part[: self.net.vocabulary]

        return cut(batch)

    def show_by_default(self, batch):
        return batch[: self._width()]

    def _width(self):
        return self.net.vocabulary

    def show_of_both(self, batch):
        return batch[: self.net.vocabulary]  # expect: DL201

    def show_of_any(self, batch):
        return batch[: self.net.vocabulary]  # expect: DL201


def trains_for_a_rank(place, loader):
    model = WrapsForARank(place)
    for batch in loader:
        model.step(batch).backward()
        model.show_of_both(batch)


def shows_without_a_rank(batch):
    model = WrapsForARank(-1)
    model.show(batch)
    model.show_of_both(batch)
    WrapsForARank().show_by_default(batch)


def shows_for_any(places, batch):
    return [WrapsForARank(place).show_of_any(batch) for place in places]


class Task:
    # TFace 171ec14 recognition/tasks/partialface/base_task.py:169: each trainer prepares first, and then wraps
    def __init__(self, backbone):
        self.backbone = backbone

    def groups(self):
        return self.backbone.recognizer

    def ready(self):
        return self.groups()


class PlainTask(Task):
    def train(self, batches):
        self.ready()
        self.backbone = DistributedDataParallel(self.backbone)
        for batch in batches:
            self.backbone(batch).sum().backward()


class PartialTask(Task):
    def train(self, batches):
        self.ready()
        self.backbone = DistributedDataParallel(self.backbone, find_unused_parameters=True)
        for batch in batches:
            self.backbone(batch).mean().backward()


class LateTask(Task):
    def sizes(self):
        return self.backbone.widths  # expect: DL201

    def train(self, batches):
        self.backbone = DistributedDataParallel(self.backbone, broadcast_buffers=False)
        self.sizes()
        for batch in batches:
            self.backbone(batch).mean().backward()


def on_one_gpu_after_all(args, net, batch):
    # fastformers 8d9f10b examples/fastformers/run_superglue.py:764: no wrap, since the number was set to 1 above
    if args.n_gpu > 1:
        args.n_gpu = 1
        args.device = 0
    if args.n_gpu > 1 and not isinstance(net, nn.DataParallel):
        net = nn.DataParallel(net)
    return net(batch).sum(), net.num_labels


def on_one_gpu_for_short(args, net, batch, count):
    if args.n_gpu > 1:
        args.n_gpu = 1
    if args.short:
        args.n_gpu = count
    if args.n_gpu > 1:
        net = nn.DataParallel(net)
    return net(batch).sum(), net.num_labels  # expect: DL201


def on_two_gpus_at_most(args, net, batch):
    if args.n_gpu > 2:
        args.n_gpu = 2
    if args.n_gpu > 1:
        net = nn.DataParallel(net)
    return net(batch).sum(), net.num_labels  # expect: DL201


class WrapsForAPlace:
    # SGM-VFI 40b5e74 Trainer_base.py:76: the method is called on objects of another class alone
    def __init__(self, place=-1):
        self.net = Wordy()
        if place != -1:
            self.net = DDP(self.net, device_ids=[place])

    def step(self, batch):
        return self.net(batch).sum()

    def paint_all(self, batch):
        return batch[: self.net.vocabulary]

    def paint_some(self, batch):
        return batch[: self.net.vocabulary]  # expect: DL201


class PaintsAlone:
    def paint_all(self, batch):
        return batch

    def paint_some(self, batch):
        return batch[:1]


def trains_for_a_place(place, loader):
    model = WrapsForAPlace(place)
    for batch in loader:
        model.step(batch).backward()
        model.paint_some(batch)


def paints_alone(batch):
    painter = PaintsAlone()
    painter.paint_some(batch)
    return painter.paint_all(batch)


class Painted(nn.Module):
    def __init__(self):
        super().__init__()
        self.brush = nn.Linear(2, 2)
        self.colours = 3

    def groups(self):
        return [{"params": self.brush.parameters()}]


class AsksForTheNameOfTheClass:
    # STMOTR f1d2f13 trainer.py:344: the wrapper's class has another name
    def __init__(self, several):
        self.net = Painted()
        if several:
            self.net = DDP(self.net)

    def train(self, batch):
        self.net(batch).sum().backward()

    def show(self):
        if self.net._get_name() == "Painted":
            return self.net.brush
        return None

    def show_by_class(self):
        if self.net.__class__.__name__ == "Painted":
            return self.net.brush
        return None


def asked_in_other_words(net, accelerator: Accelerator, batch):
    net = accelerator.prepare(Painted())
    accelerator.backward(net(batch).sum())
    if "brush" in dir(net):
        print(net.brush)
    kind = type(net).__name__
    if kind == "Painted":
        print(net.brush)
    with contextlib.suppress(AttributeError):
        print(net.brush)
    if "module" in net._modules:
        return net.module.brush
    return net.brush


def suppresses_another(net, accelerator: Accelerator, batch):
    net = accelerator.prepare(Painted())
    accelerator.backward(net(batch).sum())
    parts = getattr(net, "parts", None)
    with contextlib.suppress(KeyError):
        print(net.brush)  # expect: DL201
    if parts is None:
        return net.brush  # expect: DL201
    return parts


def groups_of(net, fast):
    if fast:
        return net.groups()
    return list(net.parameters())


def loaded_in_one_of_two_ways(args):
    # CT-Net 83badd6 main_ddp.py:250: nobody resumes and tunes, and what is tuned is wrapped below
    net = Painted()
    if args.resume:
        optimizer = torch.optim.SGD(groups_of(net, args.fast))
        net.load_state_dict(torch.load(args.resume))
        net = DDP(net)
    if args.tune_from:
        net.load_state_dict(torch.load(args.tune_from))
        optimizer = torch.optim.SGD(groups_of(net, args.fast))
        print(net.colours)
        net = DDP(net)
    return net.module.groups(), optimizer


def colours_of(net, fast):
    if fast:
        return net.colours  # expect: DL201
    return 0


def loaded_and_asked(args):
    net = Painted()
    if args.resume:
        net = DDP(net)
    if args.tune_from:
        net.load_state_dict(torch.load(args.tune_from))
        colours = colours_of(net, args.fast)
    return net, colours


def batch_that_is_prepared(net, loader):
    # BigVGAN 84be3f0 train.py:273: `prepare()` gives a tensor back as it is
    accelerator = Accelerator()
    net, loader = accelerator.prepare(net, loader)
    for number, batch in enumerate(loader):
        inputs, targets = batch
        inputs, targets = accelerator.prepare(inputs, targets)
        print(number, inputs.unsqueeze(1), targets.width)


class SetsTheAverageAside:
    def __init__(self, options, net):
        self.options = options
        self.net = net
        self.spread = True
        self.average = None
        if options.train.averages:
            self.average = copy.deepcopy(net)

    def run(self, loader, local_rank):
        # PPI 21c41af ddp_train.py:296: without the option line 178 fails, above
        if self.spread:
            self.net = DDP(self.net.cuda(local_rank))
            self.average = self.average.cuda(local_rank)
        for batch in loader:
            self.net(batch).mean().backward()
        shown = self.net
        if self.options.train.averages:
            shown = self.average
        return shown.colours


class SetsTheAverageAsideWhereThereIsOne:
    def __init__(self, options, net):
        self.options = options
        self.net = net
        self.spread = True
        self.average = None
        if options.train.averages:
            self.average = copy.deepcopy(net)

    def run(self, loader, local_rank):
        if self.spread:
            self.net = DDP(self.net.cuda(local_rank))
            if self.average is not None:
                self.average = self.average.cuda(local_rank)
        for batch in loader:
            self.net(batch).mean().backward()
        shown = self.net
        if self.options.train.averages:
            shown = self.average
        return shown.colours  # expect: DL201


class SetsTheAverageAsideTooLate:
    def __init__(self, options, net):
        self.options = options
        self.net = net
        self.spread = True
        self.average = None

    def run(self, loader, local_rank):
        if self.spread:
            self.net = DDP(self.net.cuda(local_rank))
            if self.options.train.averages:
                self.average = copy.deepcopy(self.net)
            self.average = self.average.cuda(local_rank)
        for batch in loader:
            self.net(batch).mean().backward()
        shown = self.net
        if self.options.train.averages:
            shown = self.average
        return shown.colours  # expect: DL201


def two_engines(options, net, engine, loader):
    # SparseTransformers adffc67 train.py:211: the flag says that the other engine is off
    spread = int(os.environ.get("RANK", -1)) != -1 and not options.sharded
    if spread:
        dist.init_process_group("nccl")
    if spread:
        net = DDP(torch.compile(net))
    if options.sharded:
        bare = engine.module
    else:
        bare = net.module if spread else net
    for batch in loader:
        net(batch)
    print(bare.colours)
    return paints(bare)


def paints(net):
    return net.colours


def two_engines_by_another_option(options, net, loader):
    spread = int(os.environ.get("RANK", -1)) != -1 and not options.sharded
    if spread:
        dist.init_process_group("nccl")
    if spread:
        net = DDP(torch.compile(net))
    if options.halved:
        bare = net
    else:
        bare = net.module if spread else net
    for batch in loader:
        net(batch)
    print(bare.colours)  # expect: DL201
    return paints_again(bare)


def paints_again(net):
    return net.colours  # expect: DL201


def size_by_its_keys(net):
    # StyleKD 6ae4d17 Evaluation/fid.py:105
    net = nn.DataParallel(net)
    if "module" in next(iter(net.state_dict())):
        size = net.module.colours
    else:
        size = net.colours
    return size


def size_by_keys_of_a_part(net):
    net = nn.DataParallel(net)
    if "style" in next(iter(net.state_dict())):
        size = 0
    else:
        size = net.colours  # expect: DL201
    return size


class DrawsItsWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def draw_weights(self):
        self.apply(self._draw)

    def _draw(self, layer):
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=0.02)

    def forward(self, batch):
        return self.layer(batch)


def drawn_behind_the_wrap():
    # SparseTransformers adffc67 train_llama.py:131: DDP has sent the weights of rank 0 already
    net = DrawsItsWeights()
    net = DDP(net)
    net.draw_weights()  # expect: DL201
    return net


def drawn_behind_the_wrap_in_one_mode(spread):
    net = DrawsItsWeights()
    if spread:
        net = DDP(net)
    net.draw_weights()  # expect: DL201
    return net
