"""Trackers that every rank opens, and those that one opens."""

import os

import mlflow
import torch
import torch.distributed as dist
import wandb
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.tensorboard import SummaryWriter
from transformers import Trainer


def for_everybody(model, config):
    dist.init_process_group("nccl")
    wandb.init(project="llm", config=config)  # expect: DL704
    return DDP(model)


def online_for_everybody(model):
    dist.init_process_group("nccl")
    wandb.init(project="llm", mode="online")  # expect: DL704
    return DDP(model)


def notes_who_it_is(model):
    dist.init_process_group("nccl")
    wandb.init(project="llm", config={"rank": dist.get_rank()})  # expect: DL704
    return DDP(model)


def writer(model, path):
    dist.init_process_group("nccl")
    board = SummaryWriter(path)  # expect: DL704
    board.add_scalar("ranks", dist.get_world_size())
    return DDP(model)


class Mixed:
    # One curve of each rank, and another that all draw over each other.
    def __init__(self, path):
        dist.init_process_group("nccl")
        self.mixed = SummaryWriter(path)  # expect: DL704

    def log(self, loss, step):
        self.mixed.add_scalar(f"rank{dist.get_rank()}/loss", loss, step)
        self.mixed.add_scalar("learning_rate", 1e-3, step)


def counts_them(model, path):
    dist.init_process_group("nccl")
    many = SummaryWriter(path)  # expect: DL704
    many.add_scalar(f"loss_{dist.get_world_size()}", 0.0)
    return DDP(model)


def started_with_mlflow(model):
    dist.init_process_group("nccl")
    with mlflow.start_run():  # expect: DL704
        dist.barrier()


class Curves:
    # modelscope/FunASR 3c58cb5 funasr/bin/train.py:219: curves of all ranks beside each other, in one folder
    def __init__(self, rank):
        self.rank = rank

    def log(self, curves, loss, tag, step):
        curves.add_scalar(f"rank{self.rank}_loss/{tag}", loss, step)
        curves.add_histogram(tag=f"{tag}/{self.rank}", values=loss)


def a_curve_each(model, path, loss):
    dist.init_process_group("nccl")
    try:
        curves = SummaryWriter(path)
    except OSError:
        curves = None
    Curves(dist.get_rank()).log(curves, loss, "train", 0)
    return DDP(model)


def curve_by_its_number(model, path, loss):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    with SummaryWriter(path) as drawn:
        drawn.add_scalar("loss/%d" % rank, loss)
        drawn.add_scalar("worst/" + str(rank), loss)
    return DDP(model)


def on_rank_0(model, config):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        wandb.init(project="llm", config=config)
    return DDP(model)


def named_after_it(model, config):
    dist.init_process_group("nccl")
    wandb.init(project="llm", config=config, name=f"rank{dist.get_rank()}")
    return DDP(model)


def one_for_each_on_purpose(model, name):
    dist.init_process_group("nccl")
    wandb.init(project="llm", group=name)
    return DDP(model)


class Board:
    def __init__(self, folder):
        self._folder = folder
        self._writer = None

    @property
    def writer(self):
        if self._writer is None:
            self._writer = SummaryWriter(self._folder)  # expect: DL704
        return self._writer


class BoardOfMain:
    def __init__(self, folder, is_main_process):
        self.writer = SummaryWriter(folder) if is_main_process else None
        if is_main_process:
            self.other = SummaryWriter(folder)


def open_board(folder):
    return SummaryWriter(folder)


def on_rank_0(model, folder):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        open_board(folder)
    return DDP(model)


def by_a_mapping(model, options):
    dist.init_process_group("nccl")
    wandb.init(**options)
    return DDP(model)


def switched_off_elsewhere(model):
    dist.init_process_group("nccl")
    wandb.init(project="llm", mode="online" if dist.get_rank() == 0 else "disabled")
    return DDP(model)


def folder_of_each(model, path):
    dist.init_process_group("nccl")
    board = SummaryWriter(os.path.join(path, f"rank{dist.get_rank()}"))
    board.add_scalar("ranks", dist.get_world_size())
    return DDP(model)


def of_accelerate(model):
    accelerator = Accelerator(log_with="wandb")
    accelerator.init_trackers("llm")
    return accelerator.prepare(model)


def unused_by_ranks(config):
    wandb.init(project="llm", config=config)


def begun_by_all(model, path, losses):
    # Cream 4a13c40 CDARTS/CDARTS/retrain.py:32: the others leave files with nothing but the text; information.
    dist.init_process_group("nccl")
    begun = SummaryWriter(path)  # expect: DL704
    begun.add_text("settings", str(path))
    for step, loss in enumerate(losses):
        if dist.get_rank() == 0:
            begun.add_scalar("loss", loss, step)
    return DDP(model)


def begun_by_all_for_the_first_gpu(model, path, losses):
    # A-ViT 120c9cb engine_act.py:125: as above; information.
    dist.init_process_group("nccl")
    of_gpu = SummaryWriter(path)  # expect: DL704
    for step, loss in enumerate(losses):
        if of_gpu is not None and torch.cuda.current_device() == 0:
            of_gpu.add_scalar("loss", loss, step)
    return DDP(model)


def begun_by_rank_0(model, path, losses):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        first = SummaryWriter(path)
        for step, loss in enumerate(losses):
            first.add_scalar("loss", loss, step)
    return DDP(model)


class Base:
    def __init__(self, args):
        self.args = args
        self.verbose = True
        self.loud = True
        if args.distributed:
            if args.gpu != 0:
                self.verbose = False
            if args.quiet != 0:
                self.loud = False


class OfItsBase(Base):
    def __init__(self, args, model):
        super().__init__(args)
        dist.init_process_group("nccl")
        self.model = DDP(model)

    def train(self):
        # VL-T5 (NVlabs/DoRA 7e2f10a) src/multitask.py:212
        if self.verbose:
            wandb.init(project="llm")

    def train_loudly(self):
        if self.loud:
            wandb.init(project="llm")  # expect: DL704


def of_its_base(args, model):
    trainer = OfItsBase(args, model)
    trainer.train()
    trainer.train_loudly()


class LogsWhereToldTo:
    def __init__(self, params):
        self.params = params
        dist.init_process_group("nccl")

    def train(self):
        # multiple_physics_pretraining e751fc2 train_basic.py:404
        if self.params.log_to_wandb:
            wandb.init(project="llm")
        if self.params.log_to_table:
            wandb.init(project="table")  # expect: DL704


def logs_where_told_to(params):
    global_rank = int(os.environ.get("RANK", 0))
    params["log_to_wandb"] = (global_rank == 0) and params["log_to_wandb"]
    params["log_to_table"] = bool(params["log_to_table"])
    LogsWhereToldTo(params).train()


def main_of_arguments(training_args, trainer):
    # Video-R1 59d65c3 src/r1-v/src/open_r1/sft_video.py:242: a list since `__post_init__`
    dist.init_process_group("nccl")
    if training_args.report_to == "wandb":
        wandb.init(project="llm")
    if "wandb" in training_args.report_to:
        wandb.init(project="llm")  # expect: DL704
    Trainer(args=training_args).train()


def setting_of_a_trainer(config):
    # DRPO4LLM d1b9c09 examples/hh/drpo.py:130: a list as well, whatever the object is called
    dist.init_process_group("nccl")
    if config.report_to == "wandb":
        wandb.init(project="llm")
    Trainer(args=config).train()


def setting_of_its_own(options, config):
    dist.init_process_group("nccl")
    if options.report_to == "wandb":
        wandb.init(project="llm")  # expect: DL704
    Trainer(args=config).train()


class BarWithRun:
    def __init__(self, steps, project):
        self.steps = steps
        # fairseq 0.12.2 fairseq/logging/progress_bar.py:403
        wandb.init(project=project)


class BarWithTable:
    def __init__(self, steps, project):
        self.steps = steps
        wandb.init(project=project)  # expect: DL704


def bar_of(steps, project=None, table=None):
    if project:
        steps = BarWithRun(steps, project)
    if table:
        steps = BarWithTable(steps, table)
    return steps


def bars(model, config, steps):
    dist.init_process_group("nccl")
    model = DDP(model)
    for step in bar_of(steps, config.project if is_master(config) else None, config.table):
        model(step)


def bar_without(steps):
    return bar_of(steps)


def is_master(config):
    return config.number == 0


class AsksForTheRankAbove:
    # VoiceFlow-TTS a12597a hifigan/parallel_wavegan/bin/train.py:84: files without a curve; information
    def __init__(self, config):
        dist.barrier()
        self.config = config
        self.lines = SummaryWriter(config["outdir"])  # expect: DL704

    def train(self, batches):
        for batch in batches:
            if self.config["rank"] == 0:
                self.look_at_losses()

    def look_at_losses(self):
        self.draw_losses()

    def draw_losses(self):
        self.lines.add_scalar("loss", self.loss, self.steps)


def draws_in_both_arms(of_arms, loss, step, num_gpus, rank):
    # ReViT 2188c96 epoch.py:161: the arm of one GPU draws for the one process that there is
    if num_gpus > 1:
        if rank == 0:
            of_arms.add_scalar("loss", loss, step)
    else:
        of_arms.add_scalar("loss", loss, step)


def begun_for_both_arms(model, path, num_gpus):
    dist.init_process_group("nccl")
    of_arms = SummaryWriter(path)  # expect: DL704
    draws_in_both_arms(of_arms, 0.0, 0, num_gpus, dist.get_rank())
    return DDP(model)


class HandsOn:
    # Superpoints_Registration 1713a3c src/trainer.py:174: information
    def __init__(self, path):
        dist.init_process_group("nccl")
        self.handed = SummaryWriter(path)  # expect: DL704
        self.handed_by_all = SummaryWriter(path)  # expect: DL704

    def train(self, model, batches):
        for batch in batches:
            model.draw_losses_of(self.handed_by_all, batch)
            if dist.get_rank() == 0:
                model.draw_losses_of(self.handed, batch)
        self.handed.close()


class DrawsOnOne:
    def __init__(self, path):
        dist.init_process_group("nccl")
        self.two = SummaryWriter(path)  # expect: DL704
        self.shared = SummaryWriter(path)  # expect: DL704
        self.judge = DrawsWithWhatItIsGiven(self.shared)

    def train(self, batches):
        for batch in batches:
            if dist.get_rank() == 0:
                self.two.add_scalar("loss", batch, 0)
                self.shared.add_scalar("loss", batch, 0)


class DrawsWithWhatItIsGiven:
    # The `two` of its own is another writer; `shared` is the one above.
    def __init__(self, shared):
        self.shared = shared
        self.two = SummaryWriter("score")  # expect: DL704

    def score(self, score):
        self.two.add_scalar("score", score, 0)
        self.shared.add_scalar("score", score, 0)


class HandsOnOnOne:
    def __init__(self, path):
        dist.init_process_group("nccl")
        self.kept = SummaryWriter(path) if dist.get_rank() == 0 else None

    def train(self, model, batches):
        for batch in batches:
            if dist.get_rank() == 0:
                model.draw_losses_of(self.kept, batch)


def draws_beside_its_arm(curves_of_one, loss, step, num_gpus, rank):
    if num_gpus > 1:
        if rank == 0:
            curves_of_one.add_scalar("loss", loss, step)


def begun_on_one_for_both_arms(model, path, num_gpus):
    dist.init_process_group("nccl")
    curves_of_one = SummaryWriter(path) if dist.get_rank() == 0 else None
    draws_beside_its_arm(curves_of_one, 0.0, 0, num_gpus, dist.get_rank())
    return DDP(model)


def of_what_is_imported_for_the_first(model, path, is_master):
    dist.init_process_group("nccl")
    if not path or not is_master:
        from silent import SilentWriter as Board
    else:
        from tensorboardX import SummaryWriter as Board
    board = Board(path)
    return DDP(model), board


def of_what_is_imported_where_it_is_there(model, path, installed):
    dist.init_process_group("nccl")
    if not installed:
        from torch.utils.tensorboard import SummaryWriter as Writer
    else:
        from tensorboardX import SummaryWriter as Writer
    board = Writer(path)  # expect: DL704
    return DDP(model), board


def fits(options, model, rank=0):
    # gnr 5f67085 apps/run_genebody.py:158
    is_first = not options.ddp or (options.ddp and rank == 0)
    model = DDP(model) if options.ddp else model
    if is_first:
        board = SummaryWriter(options.folder)
        board.add_scalar("loss", model(1), 0)


def fits_alone_or_with_others(options, model):
    if options.ddp:
        dist.init_process_group("nccl")
        fits(options, model, dist.get_rank())
    else:
        fits(options, model)


class ResetCurves:
    """FeatureDecorrelationSSL 408bd9e tools/logger.py:21"""

    def __init__(self, folder):
        self.reset(folder)

    def reset(self, folder):
        self.board = SummaryWriter(folder)  # expect: DL704


def opened_by_a_method(model, folder):
    dist.init_process_group("nccl")
    curves = ResetCurves(folder)
    curves.board.add_scalar("ranks", 1)
    return DDP(model)


class CurvesOfOne:
    def __init__(self, folder):
        self.reset(folder)

    def reset(self, folder):
        self.board = SummaryWriter(folder)


def opened_on_rank_0(model, folder):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        CurvesOfOne(folder).board.add_scalar("ranks", 1)
    return DDP(model)
