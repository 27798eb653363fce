"""Cases of DL208: objects that only some ranks have, used by all, and by those that have them."""

import argparse
import os
import traceback

import torch
import torch.distributed as dist
from accelerate import Accelerator
from horovod import torch as hvd
from mmcv.runner import get_dist_info
from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer

# --- bugs -----------------------------------------------------------------------------------------


def conditional_expression(make, model, steps):
    rank = dist.get_rank()
    average = make(model) if rank in [-1, 0] else None
    average.updates = steps  # expect: DL208
    average.update(model)
    return average


def called(make, batches):
    writer = make("logs") if dist.get_rank() == 0 else None
    for step, batch in enumerate(batches):
        loss = batch.sum()
        if writer:
            writer.add_scalar("loss", loss, step)
    writer.close()  # expect: DL208


def default_and_branch(accelerator: Accelerator, make, batches):
    progress = None
    if accelerator.is_main_process:
        progress = make(len(batches))
    for batch in batches:
        batch.backward()
        progress.update(1)  # expect: DL208


def both_arms(make):
    if dist.get_rank() == 0:
        table = make()
    else:
        table = None
    return table.rows  # expect: DL208


def not_assigned(accelerator: Accelerator, make, batches):
    if accelerator.is_main_process:
        table = make(len(batches))
    for batch in batches:
        batch.backward()
    table.finish()  # expect: DL208


def number_of_ranks():
    try:
        return dist.get_world_size()
    except AssertionError:
        return 1


def not_assigned_where_there_are_several(make, batches, report):
    several = number_of_ranks() > 1
    if not several or dist.get_rank() == 0:
        writer = make("logs")
    total = sum(batches)
    report(writer, total)  # expect: DL208


def not_assigned_nor_read_where_there_are_several(make, batches, report):
    several = number_of_ranks() > 1
    if not several or dist.get_rank() == 0:
        writer = make("logs")
    total = sum(batches)
    if not several or dist.get_rank() == 0:
        report(writer, total)


def not_assigned_with_a_setting(make, path):
    rank = dist.get_rank()
    if rank == 0 and path is not None:
        found = make(path)
    print(found)  # expect: DL208


class MadeByTheConstructor:
    def __init__(self, accelerator: Accelerator, make, model, steps):
        self.accelerator = accelerator
        if accelerator.is_main_process:
            self.ema = make(model)
        self.model = accelerator.prepare(model)
        self.steps = steps

    def load_from(self, path, read):
        state = read(path, self.accelerator.unwrap_model(self.model))
        self.ema.load_state_dict(state)  # expect: DL208

    def asked(self):
        if self.accelerator.is_main_process:
            self.ema.update()

    def left(self):
        if not self.accelerator.is_main_process:
            return
        self.ema.update()

    def asked_by_name(self):
        self.accelerator.wait_for_everyone()
        if hasattr(self, "ema"):
            self.ema.update()

    def expected(self):
        try:
            self.ema.update()
        except AttributeError:
            return

    def with_a_setting(self):
        self.accelerator.wait_for_everyone()
        # the setting may hold on rank 0 alone
        if self.steps.keeps_average:
            self.ema.update()


class UsedBehindAnAssertion:
    def __init__(self, make, model, share, rows):
        self.accelerator = Accelerator()
        if self.is_main:
            self.average = make(model)
        assert 0 <= share < 1
        if share > 0:
            rows = rows[: int(len(rows) * share)]
        self.rows = rows
        self.model = self.accelerator.prepare(model)
        self.average.to(self.accelerator.device)  # expect: DL208

    @property
    def is_main(self):
        return self.accelerator.is_main_process

    def log_often(self, step):
        self.accelerator.wait_for_everyone()
        if step % 100 == 0:
            self.average.log(step)  # expect: DL208

    def left_on_the_others(self, step):
        if not self.is_main:
            return
        if step % 100 == 0:
            self.average.log(step)


def read_where_an_option_says_so(make, batches):
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-rows", type=int, default=-1)
    parser.add_argument("--do-eval", action="store_true")
    args = parser.parse_args()
    if dist.get_rank() == 0 and args.data_rows == -1:
        writer = make("logs")
    for number, batch in enumerate(batches):
        dist.barrier()
        if args.do_eval:
            loss = batch.sum()
            if args.data_rows == -1:
                writer.add_scalar("loss", loss, number)  # expect: DL208


def made_under_the_same_flag(make, tracks, batches):
    if tracks:
        if dist.get_rank() == 0:
            table = make("logs")
    for batch in batches:
        dist.all_reduce(batch)
    if tracks:
        table.finish()  # expect: DL208


def in_every_tenth_step(make, batches):
    if dist.get_rank() == 0:
        writer = make("logs")
    for step, batch in enumerate(batches):
        dist.all_reduce(batch)
        if step % 10 == 0:
            writer.add_scalar("sum", batch.sum(), step)  # expect: DL208


class NoneOnTheOthers:
    def __init__(self, make):
        self.writer = None
        if dist.get_rank() == 0:
            self.writer = make()

    def finish_all(self):
        dist.barrier()
        self.writer.close()  # expect: DL208

    def finish_asked(self):
        dist.barrier()
        if self.writer is not None:
            self.writer.close()


def processed_on_one_rank(model, arguments, train, tokenize):
    is_main = int(os.environ.get("LOCAL_RANK", "0")) == 0
    if is_main:
        rows = train.map(tokenize)
        train = rows.filter(len)  # expect: DL208
    trainer = Trainer(model=model, args=arguments, train_dataset=train)
    trainer.train()


def shortened_on_one_rank(accelerator: Accelerator, data):
    if accelerator.is_main_process:
        data = data.select(range(100))  # expect: DL208
    sampler = DistributedSampler(data)
    return DataLoader(data, sampler=sampler)


def names_the_run(accelerator: Accelerator, name):
    accelerator.init_trackers("project")
    if name is not None:
        accelerator.trackers[0].run.name = name  # expect: DL208


class NamesTheRun:
    def __init__(self):
        self.accelerator = Accelerator(log_with="wandb")

    def start(self, first, name):
        self.accelerator.init_trackers("project")
        tracker = first(lambda t: t.name == "wandb", self.accelerator.trackers)
        assert tracker is not None
        tracker.run.name = name  # expect: DL208


def by_its_name(accelerator: Accelerator, code):
    accelerator.init_trackers("project")
    accelerator.get_tracker("wandb").run.log_code(code)  # expect: DL208


def named_in_two_arms(accelerator: Accelerator, settings, batches, upload, name_of):
    if accelerator.is_main_process:
        if settings.push_to_hub:
            if settings.hub_name is None:
                name = name_of(settings.folder)
            else:
                name = settings.hub_name
    for step, batch in enumerate(batches):
        batch.backward()
        if accelerator.sync_gradients:
            if step == settings.steps:
                if settings.push_to_hub:
                    upload(settings.folder, name)  # expect: DL208


def filled_on_main(accelerator: Accelerator, loader, settings):
    # tango 34ecd38 train.py:500: what goes into it is no assignment of the name
    for step, batch in enumerate(loader):
        batch.backward()
        if accelerator.is_main_process:
            result = {}
            result["step"] = step
            print(result)
        accelerator.wait_for_everyone()
        accelerator.log(result, step=step)  # expect: DL208


def scored_by_main(data, outputs, args):
    # FAN ee1b7df segmentation/tools/test_city_c.py:197
    dist.init_process_group("nccl")
    for output in outputs:
        rank, _ = get_dist_info()
        if rank == 0:
            if args.eval:
                scores = data.evaluate(output)
            print(scores["mean"])
    return scores["mean"]  # expect: DL208


def scores_on_main(model, loader):
    found = model(loader)
    dist.all_reduce(found)
    if dist.get_rank() != 0:
        return {}
    scores = {"top1": found.mean().item()}
    return scores


def summary_on_main(found):
    dist.all_reduce(found)
    if dist.get_rank() == 0:
        return found.mean(), found.std()


@torch.no_grad()
def table_on_main(model, loader):
    found = model(loader)
    found = hvd.allgather(found)
    if hvd.rank() != 0:
        return None
    return {"top1": found.mean().item()}


def reads_what_main_got(model, loader, settings, step):
    if step % settings.steps == 0:
        if settings.whole:
            scores = scores_on_main(model, loader)
            print({name: value for name, value in scores.items()})
            print(scores["top1"])  # expect: DL208
        else:
            scores = model(loader)
            print(scores["top1"])


def unpacks_what_main_got(found):
    mean, spread = summary_on_main(found)  # expect: DL208
    return mean / spread


def reads_the_table_of_main(model, loader):
    hvd.init()
    table = table_on_main(model, loader)
    return table["top1"]  # expect: DL208


def reads_it_all(model, loader, settings):
    reads_what_main_got(model, loader, settings, 0)
    unpacks_what_main_got(model)
    reads_the_table_of_main(model, loader)


# --- right ----------------------------------------------------------------------------------------


class Endpoint:
    # megatron-core 0.19.2 megatron/core/inference/text_generation_server/endpoints/completions.py:128: rank 0 has the requests
    def post(self, found):
        mean, spread = summary_on_main(found)
        return mean / spread


def reads_what_main_got_on_main(model, loader, settings, found):
    scores = scores_on_main(model, loader)
    if dist.get_rank() == 0:
        print(scores["top1"])
        mean, spread = summary_on_main(found)
        print(mean, spread)
    print(scores.get("top1"))
    if scores:
        print(scores["top1"])
    # the setting may hold on rank 0 alone
    if settings.prints:
        print(scores["top1"])


def reads_what_all_got(model, loader):
    scores = scores_on_main(model, loader)
    given = [scores]
    dist.broadcast_object_list(given)
    scores = given[0]
    print(scores["top1"])


def fills_what_the_others_lack(model, loader, fill):
    scores = scores_on_main(model, loader)
    fill(scores)
    print(scores["top1"])


def expects_nothing(model, loader):
    scores = scores_on_main(model, loader)
    try:
        print(scores["top1"])
    except KeyError:
        print("asked on another rank")


def nobody_reads_it(model, loader):
    scores = scores_on_main(model, loader)
    return scores


def empty_on_every_rank(wanted):
    if wanted is None:
        return {}
    return {"top1": wanted}


def reads_what_may_be_empty(wanted):
    dist.barrier()
    scores = empty_on_every_rank(wanted)
    print(scores["top1"])


def asked(make, model, steps):
    rank = dist.get_rank()
    average = make(model) if rank in [-1, 0] else None
    if average is not None:
        average.updates = steps
    if average:
        average.update(model)
    return average and average.state


def asked_by_leaving(make):
    rank = dist.get_rank()
    table = make() if rank == 0 else None
    if table is None:
        return None
    return table.rows


def under_the_same_guard(accelerator: Accelerator, make, batches):
    progress = None
    if accelerator.is_main_process:
        progress = make(len(batches))
    for batch in batches:
        batch.backward()
        if accelerator.is_main_process:
            progress.update(1)


def received(make):
    rank = dist.get_rank()
    table = make() if rank == 0 else None
    tables = [table]
    dist.broadcast_object_list(tables)
    table = tables[0]
    return table.rows


def set_by_a_setting(make, use_average, steps):
    average = make() if use_average else None
    average.updates = steps


def expected(make):
    rank = dist.get_rank()
    table = make() if rank == 0 else None
    try:
        return table.rows
    except AttributeError:
        return []


def in_a_short_circuit(make):
    rank = dist.get_rank()
    table = make() if rank == 0 else None
    return table is not None and table.rows


def replaced_on_every_rank(make, other):
    rank = dist.get_rank()
    table = None
    if rank == 0:
        table = make()
    table = other(table)
    return table.rows


def assigned_and_asked_alike(make, verbose):
    rank = dist.get_rank()
    if rank == 0 and verbose:
        table = make()
    if verbose and rank == 0:
        table.finish()
    if verbose:
        print(make)


def assigned_where_a_setting_says_so(make, settings):
    # the setting may hold on rank 0 alone
    if dist.get_rank() == 0:
        table = make()
    if settings.keeps_a_table:
        table.finish()


def read_where_an_option_of_this_rank_says_so(make, batches):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows-logged", type=int, default=-1)
    args = parser.parse_args()
    # set anew, by a function that knows the rank
    settle(args)
    if dist.get_rank() == 0:
        table = make("logs")
    for batch in batches:
        dist.all_reduce(batch)
    if args.rows_logged:
        table.finish()


def settle(args):
    args.rows_logged = args.rows_logged if dist.get_rank() == 0 else 0


def in_every_tenth_step_of_one_rank(make, batches):
    if dist.get_rank() == 0:
        writer = make("logs")
    for step, batch in enumerate(batches):
        dist.all_reduce(batch)
        if step % 10 == 0 and dist.get_rank() == 0:
            writer.add_scalar("sum", batch.sum(), step)


def in_a_step_of_what_sounds_like_one_rank(make, batches, on_leader):
    if dist.get_rank() == 0:
        writer = make("logs")
    for step, batch in enumerate(batches):
        dist.all_reduce(batch)
        if on_leader(step) == 0:
            writer.add_scalar("sum", batch.sum(), step)


def left_before(make):
    if dist.get_rank() == 0:
        table = make()
    else:
        return None
    return table


def assigned_in_both_arms(make, other):
    if dist.get_rank() == 0:
        table = make()
    else:
        table = other()
    return table


def assigned_on_some_and_expected(make):
    if dist.get_rank() == 0:
        table = make()
    try:
        return table
    except NameError:
        return None


def assigned_in_the_last_turn(make, batches):
    for number, batch in enumerate(batches):
        if number > 0 and dist.get_rank() == 0:
            table.finish(batch)
        if dist.get_rank() == 0:
            table = make()


class MadeLaterByAll:
    def __init__(self, make):
        if dist.get_rank() == 0:
            self.table = make()

    def reset(self, make):
        self.table = make()

    def finish(self):
        dist.barrier()
        self.table.close()


class UsedByItsOwner:
    def __init__(self, make):
        if dist.get_rank() == 0:
            self.table = make()

    def note(self, row):
        print(dist.get_rank())
        self.table.append(row)


def notes_on_main(logger, rows):
    # which object `logger` is cannot be seen
    if dist.get_rank() == 0:
        for row in rows:
            logger.note(row)


class MadeOnMainAlone:
    def __init__(self, make):
        if dist.get_rank() == 0:
            self.table = make()

    def write_table(self):
        print(dist.get_world_size())
        self.table.write()


def made_on_main_alone(make):
    if dist.get_rank() == 0:
        table = MadeOnMainAlone(make)
        table.write_table()


class SetFromOutside:
    def __init__(self, make):
        if dist.get_rank() == 0:
            self.rows = make()

    def count_rows(self):
        dist.barrier()
        return self.rows.count()


def sets_from_outside(holder, rows):
    holder.rows = rows


def processed_on_all_ranks(model, arguments, train, tokenize):
    if int(os.environ.get("LOCAL_RANK", "0")) == 0:
        print(train.map(tokenize)[0])
    train = train.map(tokenize)
    trainer = Trainer(model=model, args=arguments, train_dataset=train)
    trainer.train()


def processed_first_on_one_rank(accelerator: Accelerator, data, tokenize):
    if accelerator.is_main_process:
        data = data.map(tokenize)
    accelerator.wait_for_everyone()
    if not accelerator.is_main_process:
        data = data.map(tokenize)
    return DataLoader(data)


def each_arm_has_its_part(data):
    if dist.get_rank() == 0:
        data = data.shard(2, 0)
    else:
        data = data.shard(2, 1)
    return DataLoader(data)


def shown_on_one_rank(accelerator: Accelerator, data):
    if accelerator.is_main_process:
        data = data.select(range(4))
        for batch in DataLoader(data):
            print(batch)


def sent_to_all(data, tokenize):
    if dist.get_rank() == 0:
        data = data.map(tokenize)
    rows = [data]
    dist.broadcast_object_list(rows)
    return DataLoader(data)


def processed_where_a_setting_says_so(data, tokenize, settings):
    dist.barrier()
    if settings.short:
        data = data.map(tokenize)
    return DataLoader(data, sampler=DistributedSampler(data))


def names_the_run_on_main(accelerator: Accelerator, name):
    accelerator.init_trackers("project")
    if accelerator.is_main_process:
        accelerator.trackers[0].run.name = name


def opens_and_names_on_main(accelerator: Accelerator, name):
    if accelerator.is_main_process:
        accelerator.init_trackers("project")
        accelerator.trackers[0].run.name = name


def leaves_the_run_to_main(accelerator: Accelerator, name):
    accelerator.init_trackers("project")
    if not accelerator.is_main_process:
        return
    tracker = accelerator.get_tracker("wandb")
    tracker.run.name = name


def asks_for_the_run(accelerator: Accelerator, name):
    accelerator.init_trackers("project")
    tracker = accelerator.get_tracker("wandb")
    if hasattr(tracker, "run"):
        tracker.run.name = name
    tracker.log({"name": name})


def another_run(accelerator: Accelerator, jobs):
    accelerator.init_trackers("project")
    for tracker in accelerator.trackers:
        tracker.log({"jobs": len(jobs)})
    jobs[0].run.name = "first"


def named_on_all_in_two_arms(accelerator: Accelerator, settings, upload, name_of):
    if accelerator.is_main_process:
        name = name_of(settings.folder)
    else:
        name = settings.hub_name
    upload(settings.folder, name)


def named_and_used_on_main(accelerator: Accelerator, settings, batches, upload, name_of):
    if accelerator.is_main_process:
        if settings.hub_name is None:
            name = name_of(settings.folder)
        else:
            name = settings.hub_name
    for batch in batches:
        batch.backward()
        if accelerator.sync_gradients:
            accelerator.wait_for_everyone()
            if accelerator.is_main_process:
                upload(settings.folder, name)


def counted_by_all(data, outputs):
    _, world_size = get_dist_info()
    if world_size > 0:
        counts = data.evaluate(outputs)
    return counts["mean"]


def scored_by_the_one_that_asks(data, outputs):
    rank, _ = get_dist_info()
    if rank == 0:
        scores_of_main = data.evaluate(outputs)
    if get_dist_info()[0] == 0:
        print(scores_of_main["mean"])


def sets_what_is_global(rank):
    # NExpR train_ddp.py:80: another function calls it, and the others have nothing of that name
    global told, shown
    shown = print
    dist.init_process_group("gloo", rank=rank)
    if rank == 0:
        told = open("log.txt", "w")  # noqa: SIM115
        print(told)
    reads_what_is_global({})
    dist.barrier()


def reads_what_is_global(config):
    dist.barrier()
    if config.get("checkpoint") is not None:
        told.write("loaded")  # expect: DL208
    if dist.get_rank() == 0:
        told.write("rank 0")
    shown("all")


def reads_where_it_is_there(rank):
    dist.barrier()
    if rank == 0:
        told.write("rank 0")
    try:
        told.write("loaded")
    except NameError:
        print("loaded")


class CalledThroughAMask:
    # SMDE-Pytorch ebf8a5c logger.py:29: the decorator asks what the constructor has asked
    def __init__(self, number):
        self.number = number
        if self.number == 0:
            self.notes = SummaryWriter()

    def masked(func):
        def inner(self, *args, **kwargs):
            if self.number == 0:
                return func(self, *args, **kwargs)

        return inner

    @masked
    def note(self, value):
        self.notes.add_scalar("loss", value)


class CalledThroughNoMask:
    def __init__(self, number):
        self.number = number
        if self.number == 0:
            self.notes = SummaryWriter()

    def told(func):
        def inner(self, *args, **kwargs):
            if self.number == 0:
                print(func.__name__)
            return func(self, *args, **kwargs)

        return inner

    @told
    def note(self, value):
        self.notes.add_scalar("loss", value)  # expect: DL208


def two_that_are_masked(batches):
    masked, plain = CalledThroughAMask(dist.get_rank()), CalledThroughNoMask(dist.get_rank())
    for batch in batches:
        dist.all_reduce(batch)
        masked.note(batch)
        plain.note(batch)


class Answers:
    # MoAI a7728a8 datasets/evaluation/hallusionbench_evaluation.py:82
    def __init__(self, distributed=True):
        self.distributed = distributed
        self.answers, self.questions = [], []

    def score(self):
        if self.distributed:
            answers = self.joined(self.answers)
            questions = self.joined(self.questions)
            if dist.get_rank() != 0:
                return {}
        else:
            answers = self.answers
        return list(zip(answers, questions))

    def score_all(self):
        if self.distributed:
            if dist.get_rank() != 0:
                return {}
        answers = self.joined(self.answers)
        if dist.get_rank() == 0:
            questions = self.joined(self.questions)
        return list(zip(answers, questions))  # expect: DL208

    def joined(self, parts):
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, parts)
        return every


def trains_where_it_is_started(rank=None, mode="train"):
    # spec2mol b4c404f main.py:137: started on one process to test, where no rank has a folder
    if rank == 0:
        folder = mode + "_run"
    try:
        if mode == "train":
            dist.init_process_group("nccl", rank=rank, world_size=2)
            print(folder)  # expect: DL208
    except Exception:
        traceback.print_exc()


def trains_where_it_may_have_no_folder(rank=None, mode="train"):
    if rank == 0:
        folder = mode + "_run"
    try:
        if mode == "train":
            dist.init_process_group("nccl", rank=rank, world_size=2)
            print(folder)
    except Exception:
        print("no folder")


def start(mode):
    if mode == "test":
        trains_where_it_is_started()
        trains_where_it_may_have_no_folder()
    else:
        torch.multiprocessing.spawn(trains_where_it_is_started, nprocs=2)
        torch.multiprocessing.spawn(trains_where_it_may_have_no_folder, nprocs=2)


def hands_over_what_it_made(make, batches, mode):
    # StereoTool f6bb187 stereo/train.py:547
    if dist.get_rank() == 0:
        writer = make("logs")
    else:
        writer = None
    takes_a_writer(batches, mode, writer)
    takes_a_writer_or_none(batches, writer)


def takes_a_writer(batches, mode, writer):
    for step, batch in enumerate(batches):
        dist.all_reduce(batch)
        if dist.get_rank() == 0 and step % 10 == 0:
            writer.add_scalar("mean", batch.mean(), step)
        if mode == "step":
            writer.add_scalar("rate", batch.max(), step)  # expect: DL208


def takes_a_writer_or_none(batches, writer):
    for step, batch in enumerate(batches):
        dist.all_reduce(batch)
        if writer is not None:
            writer.add_scalar("rate", batch.max(), step)


def hands_over_where_it_may_log(make, batches, settings):
    writer = make("logs") if dist.get_rank() == 0 else None
    takes_a_writer_where_it_logs(batches, writer, settings)


def takes_a_writer_where_it_logs(batches, writer, settings):
    for step, batch in enumerate(batches):
        dist.all_reduce(batch)
        if settings.logs:
            writer.add_scalar("rate", batch.max(), step)


class Solver:
    # MSRN-RCAN-SRGAN 1490b75 MyNet_ddp/code/net/solver_ddp.py:244: the modes take the other test
    def __init__(self, options):
        if options.local_rank == 0:
            self.curves = SummaryWriter()

    def test_in_colour(self, score):
        dist.barrier()
        self.curves.add_scalar("score", score)

    def test_in_grey(self, score):
        dist.barrier()
        self.curves.add_scalar("score", score)  # expect: DL208


def solves(options):
    solver = Solver(options)
    solver.test_in_grey(1.0)
