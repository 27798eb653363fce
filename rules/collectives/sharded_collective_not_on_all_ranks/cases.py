"""Cases of DL106: calls that a sharded model makes collectives, on some ranks, and look-alikes."""

import copy
import os
import uuid

import deepspeed
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision
from accelerate import Accelerator, DistributedType
from diffusers.loaders import AttnProcsLayers
from ema_pytorch import EMA
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel
from transformers import Trainer, TrainerCallback

# --- bugs -----------------------------------------------------------------------------------------


def state_on_main(model, path):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if accelerator.is_main_process:
        # The whole state.
        torch.save(accelerator.get_state_dict(model), path)  # expect: DL106


def state_first(model, path):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if accelerator.is_main_process:
        state = accelerator.get_state_dict(model)  # expect: DL106
        torch.save(state, path)


def checkpoint(accelerator, args, global_step):
    # The shape of the training examples of diffusers.
    if accelerator.is_main_process:
        print("saving")
        save_path = os.path.join(args.output_dir, f"checkpoint-{global_step}")
        accelerator.save_state(save_path)  # expect: DL106
        print(f"Saved state to {save_path}")


def named_by_a_loss(accelerator, epoch, valid_loss, folder):
    # Amphion d3de90f models/base/new_trainer.py:331: the loss of each rank is another folder
    if accelerator.is_main_process:
        accelerator.save_state(  # shown only  # expect: DL106
            os.path.join(folder, "epoch-{:04d}_loss-{:.6f}".format(epoch, valid_loss))
        )


def named_by_a_mean_loss(accelerator, epoch, loss, folder):
    mean_loss = accelerator.gather(loss).mean().item()
    if accelerator.is_main_process:
        accelerator.save_state(f"{folder}/{epoch}-{mean_loss:.4f}")  # expect: DL106


def every_so_often(accelerator, epoch, config):
    # trl 0.7.7 trl/trainer/ddpo_trainer.py:330
    if epoch != 0 and epoch % config.save_freq == 0 and accelerator.is_main_process:
        accelerator.save_state()  # expect: DL106


def state_every_so_often(model, path, step):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if step % 100 == 0 and accelerator.is_main_process:
        torch.save(accelerator.get_state_dict(model), path)  # expect: DL106


def prints_the_unwrapped(model, path, loader):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        bare = accelerator.unwrap_model(model)
        if accelerator.is_main_process:
            print(bare.device)
        if accelerator.is_main_process:
            accelerator.save_state(path)  # expect: DL106


def forward_in_ddp(model, batch):
    model = DistributedDataParallel(model)
    if dist.get_rank() == 0:
        output = model(batch)  # expect: DL106
        print(output)


def forward_in_fsdp(model, batch):
    model = FSDP(model)
    if dist.get_rank() != 0:
        return
    print(model(batch))  # expect: DL106


class OwnTrainer(Trainer):
    def save_model(self, output_dir=None, _internal_call=False):
        if self.args.should_save:
            self._save(output_dir, state_dict=self.accelerator.get_state_dict(self.model))  # expect: DL106


class Samples(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if not state.is_world_process_zero:
            return
        model = kwargs["model"]
        print(model.generate(max_new_tokens=8))  # expect: DL106


def worker(gpu, world_size, model, loader):
    dist.init_process_group("nccl", rank=gpu, world_size=world_size)
    model = DistributedDataParallel(model.cuda(gpu), device_ids=[gpu])
    if gpu == 0:
        for batch in loader:
            model(batch)  # expect: DL106
    dist.barrier()


def start(world_size, model, loader):
    mp.spawn(worker, nprocs=world_size, args=(world_size, model, loader))


def left_by_the_first_at_the_last_step(args, model, loader):
    # The rank of all machines is put together of the one of this machine and of those in front of it.
    local_rank = dist.get_rank() % args.gpus_per_node
    args.first = local_rank + args.node * args.gpus_per_node
    model = DistributedDataParallel(model.cuda(local_rank))
    for step, batch in enumerate(loader):
        model(batch).mean().backward()  # expect: DL106
        if args.first == 0 and step == args.last_step:
            torch.save(model.module.state_dict(), "last.pt")
            return


def left_by_all_at_the_last_step(args, model, loader):
    local_rank = dist.get_rank() % args.gpus_per_node
    args.first = local_rank + args.node * args.gpus_per_node
    model = DistributedDataParallel(model.cuda(local_rank))
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        if step == args.last_step:
            if args.first == 0:
                torch.save(model.module.state_dict(), "last.pt")
            return


def compiled_and_sharded(model, batch, loader):
    model = torch.compile(FSDP(model))
    if dist.get_rank() == 0:
        print(model(batch))  # expect: DL106
    other = DistributedDataParallel(torch.nn.Linear(2, 2))
    for each in loader:
        other(model(each)).mean().backward()


class AveragesAfter:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.ema = EMA(self.accelerator.unwrap_model(self.model))

    def train(self, loader, path):
        for batch in loader:
            self.accelerator.backward(self.model(batch).mean())
            self.ema.update()
            if self.accelerator.is_main_process:
                self.accelerator.save_state(path)  # expect: DL106


class Noise(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.arange(4))

    def forward(self, x):
        return x * self.steps


def sampled_with_buffers(optimizer, loader):
    accelerator = Accelerator()
    model = Noise()
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in loader:
        accelerator.backward(model(batch).sum())
    if accelerator.is_main_process:
        with torch.no_grad():
            print(model(torch.ones(4)))  # expect: DL106
    accelerator.wait_for_everyone()


class Pictures(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = torchvision.models.resnet50(weights=None)

    def forward(self, x):
        return self.backbone(x)


def seen_with_statistics(optimizer, loader):
    accelerator = Accelerator()
    model = Pictures()
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in loader:
        accelerator.backward(model(batch).sum())
    if accelerator.is_main_process:
        with torch.no_grad():
            print(model(torch.ones(1, 3, 8, 8)))  # expect: DL106
    accelerator.wait_for_everyone()


def under_the_loss_of_each_rank(model, optimizer, loader, epoch):
    # Amphion d3de90f models/base/new_trainer.py:331: called by all ranks, each would make a folder of its own
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(batch)
        accelerator.backward(loss)
    if accelerator.is_main_process:
        accelerator.save_state(os.path.join("out", f"epoch-{epoch}_loss-{loss:.4f}"))  # expect: DL106


def under_the_loss_of_all_ranks(model, optimizer, loader, epoch):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch))
    loss = accelerator.gather(model(batch)).mean()
    if accelerator.is_main_process:
        accelerator.save_state(os.path.join("out", f"epoch-{epoch}_loss-{loss:.4f}"))  # expect: DL106


def under_the_step_of_the_newest_checkpoint(model, optimizer, loader, step):
    # all ranks list one folder: their paths are equal, and all can call
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if step is None:
        step = int(sorted(os.listdir("out"))[-1].split("-")[1])
    for batch in loader:
        accelerator.backward(model(batch))
        step += 1
        if accelerator.is_main_process:
            if step % 100 == 0:
                save_path = os.path.join("out", f"checkpoint-{step}")
                accelerator.save_state(save_path)  # expect: DL106


def after_the_old_ones_go(model, optimizer, loader, limit):
    # diffusers examples/dreambooth/train_dreambooth.py: the step to go on from is read from the folder
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    step = int(sorted(os.listdir("out"))[-1].split("-")[1])
    for batch in loader:
        accelerator.backward(model(batch))
        step += 1
        if accelerator.is_main_process:
            if step % 100 == 0:
                for each in sorted(os.listdir("out"))[:-limit]:
                    os.remove(each)
                save_path = os.path.join("out", f"checkpoint-{step}")
                accelerator.save_state(save_path)  # expect: DL106
                print("saved", save_path)


def due_beside_other_work(model, optimizer, loader, tracker):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        accelerator.backward(model(batch))
        if accelerator.is_main_process:
            if step % 100 == 0:
                save_path = os.path.join("out", f"checkpoint-{step}")
                accelerator.save_state(save_path)  # expect: DL106
                print("saved", save_path)
            tracker.log(step)


def before_other_work_that_may_fail(model, optimizer, loader, limit):
    # EditAnything 8d2db4a utils/texutal_inversion.py:906: behind the validation, it would be lost with it
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        accelerator.backward(model(batch))
        if accelerator.is_main_process:
            # Every so often
            if step % 100 == 0:
                # the old ones
                if limit is not None:
                    for each in sorted(os.listdir("out"))[:-limit]:
                        os.remove(each)

                # the new one
                save_path = os.path.join("out", f"checkpoint-{step}")
                accelerator.save_state(save_path)  # expect: DL106

            # The pictures
            if step % 10 == 0:
                print(validate(accelerator.unwrap_model(model)))


def under_an_epoch_counted_in_batches(model, optimizer, loader, steps):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(steps // len(loader), 10):
        for batch in loader:
            accelerator.backward(model(batch))
        if accelerator.is_main_process:
            accelerator.save_state(f"out/epoch_{epoch}")  # expect: DL106


def under_an_identifier_of_each_rank(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch))
    name = uuid.uuid4()
    if accelerator.is_main_process:
        accelerator.save_state(f"out/{name}")  # expect: DL106


class PreparesOneByOne:
    def __init__(self, net, optimizer):
        self.accelerator = Accelerator()
        self.net = self.accelerator.prepare(net)
        self.optimizer = self.accelerator.prepare(optimizer)

    def fit(self, loader):
        for batch in loader:
            self.accelerator.backward(self.loss(batch))
            self.optimizer.step()
        if self.accelerator.is_main_process:
            self.accelerator.save_state("out")  # expect: DL106


class ByTheForward(PreparesOneByOne):
    def loss(self, batch):
        return self.net(batch).sum()


def saves_after_it_trained(net, arguments, data, rank):
    trainer = Trainer(net, arguments, train_dataset=data)
    trainer.train()
    if rank == 0:
        trainer.save_model()  # expect: DL106
    trainer.train(resume_from_checkpoint=True)
    return trainer


class TwoOrOne:
    def __init__(self, unet, encoder, both):
        self.accelerator = Accelerator()
        if both:
            self.optimizer = torch.optim.Adam([*unet.parameters(), *encoder.parameters()])
            self.unet, self.encoder, self.optimizer = self.accelerator.prepare(
                unet, encoder, self.optimizer
            )
        else:
            self.optimizer = torch.optim.Adam(unet.parameters())
            self.unet, self.optimizer = self.accelerator.prepare(unet, self.optimizer)

    def save(self, folder):
        if self.accelerator.is_main_process:
            self.accelerator.save_state(folder)  # expect: DL106
        self.accelerator.wait_for_everyone()


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(x)


def chosen_by_an_option(options, loader):
    net = Normed().cuda()
    if options.amp == "apex":
        from apex.parallel import DistributedDataParallel as OfApex

        net = OfApex(net, delay_allreduce=True)
    else:
        net = DistributedDataParallel(net)
    for batch in loader:
        net(batch).sum().backward()
    if dist.get_rank() == 0:
        print(net(next(iter(loader))))  # expect: DL106


def averages_only_in_ddp(net, optimizer, loader, folder):
    accelerator = Accelerator()
    net = accelerator.prepare(net)
    optimizer, loader = accelerator.prepare(optimizer, loader)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        if accelerator.distributed_type == DistributedType.MULTI_GPU:
            for param in net.parameters():
                param.grad = accelerator.reduce(param.grad, reduction="mean")
        optimizer.step()
    if accelerator.is_main_process:
        accelerator.save_state(folder)  # expect: DL106
    accelerator.wait_for_everyone()


def averages_beside_deepspeed(net, optimizer, loader, folder, options):
    accelerator = Accelerator()
    if options.deepspeed:
        net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    else:
        net = accelerator.prepare(net)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        for param in net.parameters():
            if param.grad is not None:
                param.grad = accelerator.reduce(param.grad, reduction="mean")
        optimizer.step()
    if accelerator.is_main_process:
        accelerator.save_state(folder)  # expect: DL106
    accelerator.wait_for_everyone()


def averages_a_statistic(net, optimizer, loader, folder):
    accelerator = Accelerator()
    net = accelerator.prepare(net)
    optimizer, loader = accelerator.prepare(optimizer, loader)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        for param in net.parameters():
            print(accelerator.reduce(param.norm(), reduction="mean"))
        optimizer.step()
    if accelerator.is_main_process:
        accelerator.save_state(folder)  # expect: DL106
    accelerator.wait_for_everyone()


# --- right ----------------------------------------------------------------------------------------


def state_on_all(model, path):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    state = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        torch.save(state, path)


def checkpoint_on_all(accelerator, path):
    if accelerator.is_main_process:
        os.makedirs(path, exist_ok=True)
    accelerator.save_state(path)


def engine_on_all(model, path):
    model_engine, _, _, _ = deepspeed.initialize(model=model)
    model_engine.save_checkpoint(path)


def plain_model(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)


def unwrapped(model, path):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).config.save_pretrained(path)


class Loop:
    """Files, not collectives, whatever they are called."""

    def __init__(self, checkpointer, vllm_client):
        self._checkpointer = checkpointer
        self.vllm_client = vllm_client

    def save(self, state):
        if dist.get_rank() == 0:
            self._checkpointer.save_checkpoint(state)
            self.vllm_client.generate(["prompt"])


class TrainerThatAsks(Trainer):
    def save_model(self, output_dir=None, _internal_call=False):
        if self.is_fsdp_enabled:
            self._save(output_dir, state_dict=self.accelerator.get_state_dict(self.model))
        elif self.args.should_save:
            self._save(output_dir)


def replicated(model, path):
    # Every rank has all of the weights.
    model = torch.nn.parallel.DistributedDataParallel(model)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)


def trained_past_the_engine(model, loader):
    model, optimizer, _, _ = deepspeed.initialize(model=model)
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(model(next(iter(loader))))


def around_ddp(net, batch):
    net = DistributedDataParallel(net)
    engine, _, _, _ = deepspeed.initialize(model=net)
    engine.backward(engine(batch))
    engine.step()
    if dist.get_rank() == 0:
        print(len(engine.module.module.state_dict()))


def hooks_before_prepare(model, path, loader):
    # LMFlow f3597db experimental/LISA-diffusion: an optimizer for each parameter, stepped in its hook.
    accelerator = Accelerator()
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(torch.optim.SGD([parameter]).step)
    model = accelerator.prepare_model(model)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        if accelerator.is_main_process:
            accelerator.save_state(path)


def container_of_layers(unet, path, loader):
    # LMFlow f3597db experimental/RAFT-diffusion/train_text_to_image_lora.py:758
    accelerator = Accelerator()
    layers = AttnProcsLayers(unet.attn_processors)
    optimizer = torch.optim.SGD(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    for batch in loader:
        accelerator.backward(unet(batch).mean())
        accelerator.gather(batch)
        if accelerator.is_main_process:
            accelerator.save_state(path)


class Averages:
    # denoising-diffusion-pytorch faed4db denoising_diffusion_pytorch/denoising_diffusion_pytorch.py:1107
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = model
        if self.accelerator.is_main_process:
            self.ema = EMA(model)
        self.model = self.accelerator.prepare(self.model)

    def train(self, loader, path):
        for batch in loader:
            self.accelerator.backward(self.model(batch).mean())
            if self.accelerator.is_main_process:
                self.ema.update()
                self.accelerator.save_state(path)


def reference_of_the_bare_model(model, batch, loader):
    # llm.c f1e2ace train_gpt2.py:688
    model = torch.compile(model)
    if dist.get_rank() == 0:
        model(batch).mean().backward()
    model = DistributedDataParallel(model)
    for each in loader:
        model(each).mean().backward()


def validates_the_unwrapped(model, path, loader):
    # audiolm-pytorch d65fd15 audiolm_pytorch/trainer.py:990: sharded, rank 0 does not come to the save
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        if accelerator.is_main_process:
            bare = accelerator.unwrap_model(model)
            print(bare(batch))
        if accelerator.is_main_process:
            accelerator.save_state(path)


class PreparesParts:
    def __init__(self, net, optimizer):
        self.accelerator = Accelerator()
        self.net = self.accelerator.prepare(net)
        self.optimizer = self.accelerator.prepare(optimizer)

    def fit(self, loader):
        for batch in loader:
            self.accelerator.backward(self.loss(batch))
            self.optimizer.step()
        if self.accelerator.is_main_process:
            self.accelerator.save_state("out")


class ByAMethod(PreparesParts):
    """Amphion d3de90f models/vc/Noro/noro_trainer.py:295: no sharded mode trains by a method past the wrapper."""

    def loss(self, batch):
        return self.net.module.features_of(batch).sum()


def saves_before_it_trains(net, arguments, data, rank):
    trainer = Trainer(net, arguments, train_dataset=data)
    if rank == 0:
        trainer.save_model()  # whole: the Trainer wraps its model in `train()`
    trainer.train()
    return trainer


class TwoAtOnce:
    """DeepSpeed and FSDP2 refuse them, so that the models stay whole."""

    def __init__(self, generator, critic):
        self.accelerator = Accelerator()
        self.generator_optimizer = torch.optim.Adam(generator.parameters())
        self.critic_optimizer = torch.optim.Adam(critic.parameters())
        self.generator, self.critic, self.generator_optimizer, self.critic_optimizer = (
            self.accelerator.prepare(
                generator, critic, self.generator_optimizer, self.critic_optimizer
            )
        )

    def save(self, folder):
        if self.accelerator.is_main_process:
            self.accelerator.save_state(folder)
        self.accelerator.wait_for_everyone()


def rank_0_evaluates_between_epochs(net, loader, held_out, optimizer):
    # barlowtwins 8e8d284 evaluate.py:186: its one broadcast is what the next step of the others makes
    net = DistributedDataParallel(net)
    for _ in range(3):
        for batch in loader:
            net(batch).sum().backward()
            optimizer.step()
        if dist.get_rank() == 0:
            with torch.no_grad():
                for batch in held_out:
                    print(net(batch).mean())


def rank_0_tests_what_it_has_evaluated(net, loader, held_out, kept, optimizer):
    # GX_alBERTo 7b15839 train_ddp.py:141: behind another forward without gradients it broadcasts nothing
    net = DistributedDataParallel(net)
    for _ in range(3):
        for batch in loader:
            net(batch).sum().backward()
            optimizer.step()
        if dist.get_rank() == 0:
            with torch.no_grad():
                for batch in held_out:
                    print(net(batch).mean())
    if dist.get_rank() == 0:
        with torch.no_grad():
            print(net(kept).mean())
    dist.destroy_process_group()


def rank_0_tests_what_it_may_have_evaluated(net, loader, held_out, kept, optimizer):
    net = DistributedDataParallel(net)
    for epoch in range(3):
        for batch in loader:
            net(batch).sum().backward()
            optimizer.step()
        if dist.get_rank() == 0 and epoch % 2 == 1:
            with torch.no_grad():
                print(net(held_out).mean())
    if dist.get_rank() == 0:
        with torch.no_grad():
            print(net(kept).mean())  # expect: DL106
    dist.destroy_process_group()


def rank_0_evaluates_before_a_barrier(net, loader, held_out, optimizer):
    net = DistributedDataParallel(net)
    for _ in range(3):
        for batch in loader:
            net(batch).sum().backward()
            optimizer.step()
        if dist.get_rank() == 0:
            with torch.no_grad():
                for batch in held_out:
                    print(net(batch).mean())  # expect: DL106
        dist.barrier()


def rank_0_evaluates_behind_the_first_step(net, loader, held_out, optimizer):
    # vq-vae-2-pytorch ef5f67c train_vqvae.py:71: the others rebuild their buckets first
    net = DistributedDataParallel(net)
    for i, batch in enumerate(loader):
        net(batch).sum().backward()
        optimizer.step()
        if i % 100 == 0 and dist.get_rank() == 0:
            with torch.no_grad():
                print(net(held_out).mean())  # expect: DL106


def rank_0_evaluates_behind_a_first_step_without_rebuilding(net, loader, held_out, optimizer):
    # AnyGPT 282b58f soundstorm_speechtokenizer/trainer.py:356: who looks for unused parameters keeps the buckets
    net = DistributedDataParallel(net, find_unused_parameters=True)
    for i, batch in enumerate(loader):
        net(batch).sum().backward()
        optimizer.step()
        if i % 100 == 0 and dist.get_rank() == 0:
            with torch.no_grad():
                print(net(held_out).mean())


def rank_0_evaluates_before_the_step_is_counted(net, loader, held_out, optimizer):
    net = DistributedDataParallel(net)
    steps = 0
    for batch in loader:
        net(batch).sum().backward()
        optimizer.step()
        if dist.get_rank() == 0 and not (steps % 100):
            with torch.no_grad():
                print(net(held_out).mean())  # expect: DL106
        steps += 1


def rank_0_evaluates_behind_a_counted_step(net, loader, held_out, optimizer):
    net = DistributedDataParallel(net)
    steps = 0
    for batch in loader:
        net(batch).sum().backward()
        optimizer.step()
        steps += 1
        if dist.get_rank() == 0 and not (steps % 100):
            with torch.no_grad():
                print(net(held_out).mean())


def rank_0_evaluates_by_phases(net, loader, held_out, optimizer, phase):
    # SSAE 911d4d3 train.py:605: a phase in which nothing runs before `backward()` there is none
    net = DistributedDataParallel(net)
    steps = 0
    for batch in loader:
        loss_of_phase(net, batch, phase).backward()
        optimizer.step()
        steps += 1
        if steps % 100 == 0 and dist.get_rank() == 0:
            with torch.no_grad():
                print(loss_of_phase(net, held_out, phase))


def loss_of_phase(net, batch, phase):
    if phase == 1:
        return net(batch).mean()
    if phase == 2:
        return net(batch).sum()


def rank_0_evaluates_before_backward(net, loader, held_out, optimizer):
    net = DistributedDataParallel(net)
    for batch in loader:
        loss = net(batch).sum()
        if dist.get_rank() == 0:
            with torch.no_grad():
                print(net(held_out))  # expect: DL106
        loss.backward()
        optimizer.step()


def rank_0_samples_with_gradients(net, loader, held_out, optimizer):
    net = DistributedDataParallel(net)
    for _ in range(3):
        for batch in loader:
            net(batch).sum().backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(net(held_out).mean())  # expect: DL106


def a_copy_from_before(net, optimizer, folder):
    # RoboticsDiffusionTransformer deb71d8 train/train.py:488
    accelerator = Accelerator()
    average = copy.deepcopy(net)
    net, optimizer = accelerator.prepare(net, optimizer)
    if accelerator.is_main_process:
        accelerator.save_model(average, folder)


def a_copy_that_is_prepared(net, optimizer, folder):
    accelerator = Accelerator()
    average = copy.deepcopy(net)
    net, average, optimizer = accelerator.prepare(net, average, optimizer)
    if accelerator.is_main_process:
        accelerator.save_model(average, folder)  # expect: DL106


def averages_gradients_by_hand(net, optimizer, loader, folder):
    # FSDP has the gradients of shards, and DeepSpeed wants a loader with the model.
    accelerator = Accelerator()
    net = accelerator.prepare(net)
    optimizer, loader = accelerator.prepare(optimizer, loader)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        if accelerator.sync_gradients:
            if accelerator.distributed_type != DistributedType.NO:
                for param in net.parameters():
                    if param.grad is not None:
                        param.grad = accelerator.reduce(param.grad, reduction="mean")
        optimizer.step()
    if accelerator.is_main_process:
        accelerator.save_state(folder)
    accelerator.wait_for_everyone()


def rank_0_evaluates_in_front_of_the_first_step(net, loader, held_out, optimizer):
    # GOTHAM 7ef09cc src/train.py:283: the others come to their first forward
    net = DistributedDataParallel(net)
    steps = 0
    for batch in loader:
        if steps % 100 == 0 and dist.get_rank() == 0:
            with torch.no_grad():
                print(net(held_out).mean())
        for part in batch.chunk(4):
            net(part).sum().backward()
        optimizer.step()
        steps += 1


def rank_0_draws_pictures(net, loader, pictures, optimizer):
    # Improving-Deep-Watermarking 55dcd53 ddp_train.py:409: no buffer is sent, and behind the block gradients are on
    net = DistributedDataParallel(net, broadcast_buffers=False)
    for batch in loader:
        net.train()
        net(batch).sum().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        net.eval()
        with torch.no_grad():
            print(net(pictures).mean())
        print(net(pictures))


def rank_0_draws_pictures_in_training(net, loader, pictures, optimizer):
    net = DistributedDataParallel(net, broadcast_buffers=False)
    for batch in loader:
        net.eval()
        net.train()
        net(batch).sum().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(net(pictures))  # expect: DL106


def rank_0_draws_pictures_with_buffers(net, loader, pictures, optimizer):
    net = DistributedDataParallel(net)
    for batch in loader:
        net.train()
        net(batch).sum().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        net.eval()
        print(net(pictures))  # expect: DL106
