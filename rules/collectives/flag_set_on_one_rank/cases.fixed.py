"""Flags that one rank sets, and conditions that all ranks come to."""

import os
import time

import torch
import torch.distributed as dist
from accelerate import Accelerator
from distlint.runtime import any_rank
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm
from transformers import TrainerCallback

# Bugs


def leaves_the_loop(model, loader, judge):
    stop = False
    for epoch in range(10):
        for batch in loader:
            dist.all_reduce(model(batch))
        if dist.get_rank() == 0:
            if judge(epoch) > 3:
                stop = True
        dist.barrier()
        if any_rank(stop):  # expect: DL111
            break


def returns(model, judge):
    accelerator = Accelerator()
    failed = None
    if accelerator.is_main_process:
        failed = judge(model)
    if any_rank(failed):  # expect: DL111
        return None
    accelerator.wait_for_everyone()
    return model


class Trainer:
    def fit(self, loader, judge):
        for batch in loader:
            dist.all_reduce(batch)
            if dist.get_rank() == 0:
                self.stop = judge(batch)
            if any_rank(self.stop):  # expect: DL111
                break


def logs_where_it_can(cfg, model, loader):
    # sae e657340 sparsify/trainer.py:187: rank 0 alone tries the import
    rank_zero = dist.get_rank() == 0
    if cfg.log and rank_zero:
        try:
            import wandb

            wandb.init(project="sae")
        except ImportError:
            cfg.log = False
    for step, batch in enumerate(loader):
        losses = model(batch)
        if cfg.log and step % cfg.every == 0:  # expect: DL111
            gathered = [None] * dist.get_world_size()
            dist.gather_object(losses, gathered if rank_zero else None)


def evaluates_if_there_is_a_judge(judge, loader, every):
    judged = True
    if dist.get_rank() == 0:
        judged = judge.start()
    for step, batch in enumerate(loader):
        if not judged or step % every:  # expect: DL111
            continue
        dist.all_reduce(batch)


def restore(model, path):
    model.load_state_dict(torch.load(path, map_location="cpu"))
    dist.barrier()


def latest_found_where_one_looks(cfg, model):
    # molmo 793fa38 scripts/train.py:96
    if dist.get_rank() == 0:
        print(cfg)
        if cfg.allow_resume and os.path.exists(cfg.latest):
            cfg.load_path = str(cfg.latest)
    dist.barrier()
    if cfg.load_path is None:
        model.reset_parameters()
    if cfg.load_path is not None:  # expect: DL111
        restore(model, cfg.load_path)


def resumed_where_one_looks(args, model):
    if dist.get_rank() == 0 and os.path.exists(args.last):
        args.resume = args.last
    if not args.resume and args.sync:  # expect: DL111
        for parameter in model.parameters():
            dist.broadcast(parameter.data, 0)


def counts_where_it_draws(net, loader, optimizer, writer, most):
    # s3prl ec8064b s3prl/downstream/runner.py:421
    model = DistributedDataParallel(net)
    bar = tqdm(total=most)
    while bar.n < most:  # expect: DL111
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            if dist.get_rank() != 0:
                continue
            writer.add_scalar("loss", loss.item())
            bar.update(1)


def counts_where_it_writes(net, loader, optimizer, writer, most):
    model = DistributedDataParallel(net)
    step = 0
    for batch in loader:
        if step >= most:  # expect: DL111
            break
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            writer.add_scalar("loss", loss.item())
            step += 1


# Correct


def counts_on_all(net, loader, optimizer, writer, most):
    model = DistributedDataParallel(net)
    bar = tqdm(total=most)
    while bar.n < most:
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            bar.update(1)
            if dist.get_rank() != 0:
                continue
            writer.add_scalar("loss", loss.item())


def counts_what_it_writes(net, loader, optimizer, writer, most):
    model = DistributedDataParallel(net)
    written = 0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            if written < most:
                writer.add_scalar("loss", loss.item())
                written += 1


def told_what_is_counted(net, loader, optimizer, writer, most):
    model = DistributedDataParallel(net)
    step = 0
    for batch in loader:
        if step >= most:
            break
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            writer.add_scalar("loss", loss.item())
            step += 1
        told = [step]
        dist.broadcast_object_list(told)
        step = told[0]


def logs_alone(cfg, model, loader):
    if cfg.log and dist.get_rank() == 0:
        cfg.log = cfg.tracker is not None
    for step, batch in enumerate(loader):
        losses = model(batch)
        dist.all_reduce(losses)
        if cfg.log and step % cfg.every == 0:
            print(losses)


def logs_where_the_rank_is_asked_again(cfg, model, loader):
    if dist.get_rank() == 0:
        cfg.log = cfg.tracker is not None
    for batch in loader:
        if cfg.log and dist.get_rank() == 0:
            print(batch)
        dist.all_reduce(batch)


def logs_where_all_were_told(cfg, loader):
    told = [cfg.log]
    if dist.get_rank() == 0:
        cfg.log = cfg.tracker is not None
        told = [cfg.log]
    dist.broadcast_object_list(told)
    cfg.log = told[0]
    for step, batch in enumerate(loader):
        if cfg.log and step % cfg.every == 0:
            dist.all_reduce(batch)


def latest_told_to_all(cfg, model):
    if dist.get_rank() == 0:
        if os.path.exists(cfg.latest):
            cfg.load_path = str(cfg.latest)
    told = [cfg.load_path]
    dist.broadcast_object_list(told)
    cfg.load_path = told[0]
    if cfg.load_path is not None:
        restore(model, cfg.load_path)


def share_options(cfg):
    told = [vars(cfg)]
    dist.broadcast_object_list(told)
    vars(cfg).update(told[0])


def all_options_told(cfg, model):
    if dist.get_rank() == 0 and os.path.exists(cfg.latest):
        cfg.load_path = str(cfg.latest)
    share_options(cfg)
    if cfg.load_path is not None:
        restore(model, cfg.load_path)


def found_by_each(cfg, model):
    if dist.get_rank() == 0:
        print(cfg)
        cfg.verbose = True
    if os.path.exists(cfg.latest):
        cfg.load_path = str(cfg.latest)
    if cfg.verbose:
        print(model)
    if cfg.load_path is not None:
        restore(model, cfg.load_path)


def waits_either_way(cfg, model):
    if dist.get_rank() == 0 and os.path.exists(cfg.latest):
        cfg.load_path = str(cfg.latest)
    if cfg.load_path is not None:
        restore(model, cfg.load_path)
    else:
        dist.barrier()


def asked_where_one_looks(cfg, model, save):
    dist.barrier()
    if dist.get_rank() == 0:
        cfg.best = save(model)
    if dist.get_rank() == 0 and cfg.best:
        save(cfg.best)
    dist.barrier()


def told_to_all(model, loader, judge):
    stop = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            stop = judge(epoch)
        told = [stop]
        dist.broadcast_object_list(told)
        stop = told[0]
        if stop:
            break


def as_a_tensor(model, loader, judge):
    stop = torch.zeros(1)
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            stop = torch.tensor([float(judge(epoch))])
        dist.broadcast(stop, 0)
        if stop:
            break


def asked_on_rank_0(model, loader, judge, save):
    best = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            best = judge(epoch)
        if dist.get_rank() == 0 and best:
            save(model)


def without_a_collective_behind(model, judge, log):
    dist.barrier()
    path = None
    if dist.get_rank() == 0:
        path = judge(model)
    if path:
        log(path)
    return path


def set_on_all_ranks(model, loader, judge):
    stop = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        stop = judge(epoch)
        if stop:
            break


def on_both_arms(model, loader, judge):
    stop = False
    for epoch in range(10):
        dist.all_reduce(model(loader))
        if dist.get_rank() == 0:
            stop = judge(epoch)
        else:
            stop = judge(epoch)
        if stop:
            break


# --- flags of a Trainer ---------------------------------------------------------------------------


class StopFile(Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.is_global_zero and os.path.exists("stop"):
            trainer.should_stop = True  # expect: DL111
        trainer.strategy.barrier()


class StopOfRankZero(Callback):
    @rank_zero_only
    def on_validation_end(self, trainer, pl_module):
        if trainer.callback_metrics["loss"] > 10:
            trainer.should_stop = True  # expect: DL111


class Budget(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            if time.time() > self.until:
                control.should_training_stop = True  # expect: DL111
        return control


class StopOfAll(Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        stop = trainer.is_global_zero and os.path.exists("stop")
        trainer.should_stop = trainer.strategy.broadcast(stop, src=0)


class StopHandedOn(Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.is_global_zero:
            trainer.should_stop = True
        trainer.should_stop = trainer.strategy.broadcast(trainer.should_stop)


class StopAlike(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            print("done")
        if trainer.current_epoch > 3:
            trainer.should_stop = True


class StepsAlike(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step >= 100:
            control.should_training_stop = True
        return control


class SaveOfRankZero(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            control.should_log = True
        return control


class StopsEarly:
    # De-limiter solver_ddp.py:543: the function that runs the epochs asks
    def __init__(self):
        self.over = False

    def validate(self, loss, patience):
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(loss)
            self.over = patience.step(loss)


def runs_epochs(loss, patience):
    solver = StopsEarly()
    for _ in range(9):
        solver.validate(loss, patience)
        if solver.over == True:  # expect: DL111
            break


class StopsTogether:
    def __init__(self):
        self.ended = False

    def validate(self, loss, patience):
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(loss)
            self.ended = patience.step(loss)
        told = [self.ended]
        dist.broadcast_object_list(told)
        self.ended = told[0]


def runs_epochs_together(loss, patience):
    solver = StopsTogether()
    for _ in range(9):
        solver.validate(loss, patience)
        if solver.ended:
            break


class StopsLogging:
    def __init__(self):
        self.quiet = False

    def validate(self, loss, patience):
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(loss)
            self.quiet = patience.step(loss)


def logs_epochs(loss, patience, lines):
    solver = StopsLogging()
    for _ in range(9):
        solver.validate(loss, patience)
        for line in lines:
            if solver.quiet:
                break
            print(line)
