"""Gradients that are clipped beside an Accelerator."""

import torch
from accelerate import Accelerator, DistributedType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

# Bugs


def past_the_accelerator(model, optimizer, loader, limit):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # expect: DL604
        optimizer.step()
        accelerator.log({"norm": norm})


def imported_by_name(model, optimizer, loader, limit):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    def hook(parameter):
        if accelerator.sync_gradients:
            clip_grad_norm_(parameter, limit)  # expect: DL604

    for batch in loader:
        accelerator.backward(model(batch).loss)
        hook(model.head.weight)
        optimizer.step()


def between_the_batches(model, optimizer, loader, limit):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).loss)
            accelerator.clip_grad_norm_(model.parameters(), limit)  # expect: DL604
            optimizer.step()


def past_it_between_the_batches(model, optimizer, loader, limit):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).loss)
            norm = torch.nn.utils.clip_grad_norm_(model.head.parameters(), limit)  # expect: DL604
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # expect: DL604
            optimizer.step()
            accelerator.log({"norm": norm})


def of_shards(model, optimizer, loader, limit):
    model = FSDP(model, use_orig_params=True)
    for batch in loader:
        model(batch).sum().backward()
        clip_grad_norm_(model.parameters(), limit)  # expect: DL604
        optimizer.step()


def under_a_test_of_its_own(model, optimizer, loader, limit):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).loss)
            if limit is not None and limit > 0:
                accelerator.clip_grad_norm_(model.parameters(), limit)  # expect: DL604
            optimizer.step()


def behind_the_step(model, optimizer, loader, limit):
    # Amphion d3de90f models/tts/valle/valle_trainer.py:159: there is nothing left to clip
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # expect: DL604


def behind_the_step_of_another(model, judge, first, second, loader, limit):
    accelerator = Accelerator()
    model, judge, optimizer, judging_optimizer = accelerator.prepare(model, judge, first, second)
    for batch in loader:
        accelerator.backward(model(batch).loss + judge(batch).loss)
        optimizer.step()
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), limit)  # expect: DL604
        judging_optimizer.step()


def unless_deepspeed_clips_by_itself(model, optimizer, loader, limit):
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).loss)
            if accelerator.sync_gradients and accelerator.distributed_type != DistributedType.DEEPSPEED:
                torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # expect: DL604
            optimizer.step()


def each_of_the_batches_by_hand(net, optimizer, loader, limit, every):
    net = DistributedDataParallel(net)
    for step, batch in enumerate(loader):
        loss = net(batch).mean() / every
        loss.backward()
        clip_grad_norm_(net.parameters(), limit)  # expect: DL604
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def counted_in_a_state(net, optimizer, batches, limit, state, args):
    # blt 9774ed4 bytelatent/train.py:501.
    net = DistributedDataParallel(net)
    state.acc_step = 0
    while state.step < args.steps:
        state.acc_step += 1
        state.acc_step = state.acc_step % args.grad_acc_steps
        (net(next(batches)).mean() / args.grad_acc_steps).backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), limit)  # expect: DL604
        if state.acc_step == 0:
            optimizer.step()
            optimizer.zero_grad()
            state.step += 1
        print(norm)


def inside_the_micro_batches(net, optimizer, loader, limit, args):
    net = DistributedDataParallel(net)
    for batch in loader:
        optimizer.zero_grad()
        for micro_batch in batch.chunk(args.parts):
            loss = net(micro_batch).mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), limit)  # expect: DL604
        optimizer.step()


# Correct


def behind_the_micro_batches(net, optimizer, loader, limit, args):
    net = DistributedDataParallel(net)
    for batch in loader:
        optimizer.zero_grad()
        for micro_batch in batch.chunk(args.parts):
            loss = net(micro_batch).mean()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), limit)
        optimizer.step()


def where_the_optimizer_steps(net, optimizer, loader, limit, every):
    net = DistributedDataParallel(net)
    for step, batch in enumerate(loader):
        (net(batch).mean() / every).backward()
        if (step + 1) % every == 0:
            clip_grad_norm_(net.parameters(), limit)
            optimizer.step()
            optimizer.zero_grad()


def where_it_is_time(net, optimizer, loader, limit, every):
    net = DistributedDataParallel(net)
    for step, batch in enumerate(loader):
        is_last = (step + 1) % every == 0
        (net(batch).mean() / every).backward()
        if limit and is_last:
            clip_grad_norm_(net.parameters(), limit)
        if is_last:
            optimizer.step()
            optimizer.zero_grad()


def in_each_step(net, optimizer, loader, limit, log_every):
    net = DistributedDataParallel(net)
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        net(batch).mean().backward()
        clip_grad_norm_(net.parameters(), limit)
        optimizer.step()
        if step % log_every == 0:
            print(step)




def by_fsdp(model, optimizer, loader, limit):
    model = FSDP(model)
    for batch in loader:
        model(batch).sum().backward()
        model.clip_grad_norm_(limit)
        optimizer.step()


def by_the_accelerator(model, optimizer, loader, limit):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), limit)
            optimizer.step()


def nothing_is_accumulated(model, optimizer, loader, limit):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).loss)
            accelerator.clip_grad_norm_(model.parameters(), limit)
            optimizer.step()


def without_an_accelerator(model, optimizer, loader, limit):
    for batch in loader:
        model(batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()


def for_one_kind_of_launch(model, optimizer, loader, limit, use_fsdp):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        if use_fsdp:
            model.clip_grad_norm_(limit)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()


def where_nothing_is_sharded(model, optimizer, loader, limit):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        if accelerator.distributed_type == DistributedType.MULTI_GPU:
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()


def unscaled_by_hand(model, optimizer, loader, limit):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).loss)
        accelerator.unscale_gradients()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()


def clipped_in_hooks(args, model, loader):
    # LMFlow f3597db experimental/LISA-diffusion/diffusion_dpo/train_diffusion_dpo_lisa.py:774
    accelerator = Accelerator()
    optimizers = {each: torch.optim.SGD([each]) for each in model.parameters()}

    def step(parameter):
        if accelerator.sync_gradients:
            torch.nn.utils.clip_grad_norm_(parameter, args.max_grad_norm)
        optimizers[parameter].step()

    for each in model.parameters():
        each.register_post_accumulate_grad_hook(step)
    model = accelerator.prepare_model(model)
    for batch in loader:
        accelerator.backward(model(batch).mean())


def without_an_accelerator(model, optimizer, loader, limit):
    for batch in loader:
        model(batch).sum().backward()
        clip_grad_norm_(model.parameters(), limit)
        optimizer.step()


def of_shards_before_their_gradients(model, optimizer, loader, limit):
    # sngp-segmentation 83be6ea sngp_segmentation/utils.py:520: cleared, whatever the shards are
    model = FSDP(model)
    for batch in loader:
        loss = model(batch).sum()
        optimizer.zero_grad()
        clip_grad_norm_(model.parameters(), limit)  # expect: DL604
        loss.backward()
        optimizer.step()


def of_shards_behind_their_gradients(model, optimizer, loader, limit):
    model = FSDP(model)
    for batch in loader:
        optimizer.zero_grad()
        model(batch).sum().backward()
        model.clip_grad_norm_(limit)
        optimizer.step()


def two_parts_of_one_step(first, second, optimizer, loader, limit):
    # BigVGAN 84be3f0 train.py:295: a second call of the Accelerator's would raise under fp16
    accelerator = Accelerator()
    first, second, optimizer, loader = accelerator.prepare(first, second, optimizer, loader)
    for batch in loader:
        accelerator.backward(first(batch).mean() + second(batch).mean())
        torch.nn.utils.clip_grad_norm_(first.parameters(), limit)  # expect: DL604
        torch.nn.utils.clip_grad_norm_(second.parameters(), limit)  # expect: DL604
        optimizer.step()


def two_steps(first, second, optimizers, loader, limit):
    accelerator = Accelerator()
    first, second, loader, *optimizers = accelerator.prepare(first, second, loader, *optimizers)
    for batch in loader:
        accelerator.backward(first(batch).mean())
        torch.nn.utils.clip_grad_norm_(first.parameters(), limit)  # expect: DL604
        optimizers[0].step()
        accelerator.backward(second(batch).mean())
        torch.nn.utils.clip_grad_norm_(second.parameters(), limit)  # expect: DL604
        optimizers[1].step()


def both_in_one_call(first, second, optimizer, loader, limit):
    accelerator = Accelerator()
    first, second, optimizer, loader = accelerator.prepare(first, second, optimizer, loader)
    for batch in loader:
        accelerator.backward(first(batch).mean() + second(batch).mean())
        accelerator.clip_grad_norm_([*first.parameters(), *second.parameters()], limit)
        optimizer.step()


def one_model_by_the_accelerator(model, optimizer, loader, limit):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        accelerator.clip_grad_value_(model.parameters(), limit)
        optimizer.step()
