"""Checkpoints that rank 0 writes, and how the ranks find them again."""

import glob
import os
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from accelerate import Accelerator
from safetensors.torch import load_file
from torch.nn.parallel import DistributedDataParallel

# Bugs


def save(model, optimizer, epoch, path):
    if dist.get_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, path)


def save_in(model, optimizer, folder):
    if dist.get_rank() == 0:
        torch.save(optimizer.state_dict(), os.path.join(folder, "adam.pt"))


def train_in(args, model, optimizer, steps):
    model = DistributedDataParallel(model)
    if os.path.exists(f"{args.out}/final/adam.pt"):  # nothing is written there
        optimizer.load_state_dict(torch.load(f"{args.out}/final/adam.pt"))
    for step in range(steps):
        folder = os.path.join(args.out, "at-" + str(step))
        if step == steps - 1:
            folder = os.path.join(args.out, "final" + "-" + str(step))
        save_in(model, optimizer, folder)


def save_below(model, optimizer, folder):
    if dist.get_rank() == 0:
        torch.save(optimizer.state_dict(), os.path.join(folder, "sgd.pt"))


def train_below(args, model, optimizer, steps):
    model = DistributedDataParallel(model)
    if os.path.exists(f"{args.out}/final/sgd.pt"):  # expect: DL309
        optimizer.load_state_dict(torch.load(f"{args.out}/final/sgd.pt"))
    for step in range(steps):
        folder = os.path.join(args.out, "at-" + str(step))
        if step == steps - 1:
            folder = os.path.join(args.out, "final")
        save_below(model, optimizer, folder)


def behind_the_wrap(args, model, optimizer):
    dist.barrier()
    model = DistributedDataParallel(model)
    if args.resume:
        if os.path.isfile(args.resume):  # expect: DL309
            checkpoint = torch.load(args.resume)
            args.start_epoch = checkpoint["epoch"]
            model.load_state_dict(checkpoint["model"])
    return model


def epoch_told_and_taken_above_the_wrap(args, model):
    dist.barrier()
    if os.path.isfile(args.resume):  # expect: DL309
        checkpoint = torch.load(args.resume)
        model.load_state_dict(checkpoint["model"])
        args.start_epoch = checkpoint["epoch"]
        print("loaded from epoch", checkpoint["epoch"])
    return DistributedDataParallel(model)


def newest_or_written_out(args, model, optimizer):
    dist.barrier()
    path = sorted(glob.glob(os.path.join(args.out, "step-*.pth")))[-1:]  # expect: DL309
    if args.first:
        path = ["first.pth"]
    for each in path:
        checkpoint = torch.load(each)
        args.start_epoch = checkpoint["epoch"]
        model.load_state_dict(checkpoint["model"])


def newest(args, model, optimizer):
    dist.barrier()
    if args.auto_resume:
        last = -1
        for path in glob.glob(os.path.join(args.out, "checkpoint-*.pth")):  # expect: DL309
            last = max(last, int(path.split("-")[-1].split(".")[0]))
        if last >= 0:
            args.resume = os.path.join(args.out, "checkpoint-%d.pth" % last)
    if args.resume:
        checkpoint = torch.load(args.resume)
        optimizer.load_state_dict(checkpoint["optimizer"])
        args.start_epoch = checkpoint["epoch"] + 1


def last_of(folder):
    path = os.path.join(folder, "last.pt")
    return path if os.path.exists(path) else None


class Trainer:
    def resume(self):
        dist.barrier()
        path = last_of(self.folder)  # expect: DL309
        if path is None:
            self.begin()
        else:
            self.load_from(path)

    def begin(self):
        self.step = 0

    def load_from(self, path):
        with open(path, "rb") as file:
            state = torch.load(file)
        self.step = state["step"]


def with_accelerate(args, model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    folders = os.listdir(args.out)  # expect: DL309
    folders = sorted(folders, key=lambda name: int(name.split("-")[1]))
    path = folders[-1] if folders else None
    if path is not None:
        accelerator.load_state(os.path.join(args.out, path))
    return model


class TwoEngines:
    # The option that decides how it saves is not the one under which it loads.
    def __init__(self, folder, fsdp, compiled):
        self.folder = folder
        self.fsdp = fsdp
        self.compiled = compiled

    def save(self, model, epoch):
        if not self.fsdp and dist.get_rank() == 0:
            state = {"model": model.state_dict(), "epoch": epoch}
            torch.save(state, os.path.join(self.folder, "running.pt"))

    def resume(self, model):
        dist.barrier()
        if self.compiled:
            path = os.path.join(self.folder, "running.pt")
            if os.path.exists(path):  # expect: DL309
                self.epoch = torch.load(path)["epoch"]


class BestOrNot:
    # What decides changes while it runs.
    def __init__(self, folder):
        self.folder = folder
        self.best = False

    def save(self, model, epoch, score):
        self.best = score > 0.5
        if self.best and dist.get_rank() == 0:
            state = {"model": model.state_dict(), "epoch": epoch}
            torch.save(state, os.path.join(self.folder, "best.pt"))

    def resume(self, model):
        dist.barrier()
        if not self.best:
            path = os.path.join(self.folder, "best.pt")
            if os.path.exists(path):  # expect: DL309
                self.epoch = torch.load(path)["epoch"]


def test_then_train(args, model, optimizer, batches):
    # Named after its first half.
    model = DistributedDataParallel(model)
    path = os.path.join(args.out, "last.pt")
    if os.path.exists(path):  # expect: DL309
        state = torch.load(path)
        model.load_state_dict(state["model"])
        args.start_epoch = state["epoch"]
    for batch in batches:
        model(batch).backward()


def through_a_loader_of_another_package(args, loading, model):
    model = DistributedDataParallel(model)
    start_epoch = 0
    if os.path.exists(args.latest):  # expect: DL309
        model, start_epoch = loading.load_checkpoint(args.latest, model)
    return model, start_epoch


def by_pathlib(out, model, optimizer):
    model = DistributedDataParallel(model)
    state = Path(out) / "last.pt"
    step = 0
    if state.exists():  # expect: DL309
        checkpoint = torch.load(state)
        optimizer.load_state_dict(checkpoint["optimizer"])
        step = checkpoint["step"]
    return step


def above_the_wrap_with_the_epoch(args, model):
    dist.barrier()
    if os.path.isfile(args.resume):  # expect: DL309
        checkpoint = torch.load(args.resume)
        model.load_state_dict(checkpoint["model"])
        args.start_epoch = checkpoint["epoch"]
    return DistributedDataParallel(model)


def into_a_model_without_wrapper(args, trunk, head):
    dist.barrier()
    head = DistributedDataParallel(head)
    if os.path.isfile(args.pretrained):  # expect: DL309
        trunk.load_state_dict(torch.load(args.pretrained))
    args.start_epoch = args.state["epoch"]


def load_into(state, model, optimizer, path):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    state.epoch = checkpoint["epoch"]


def path_behind_the_objects(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    paths = glob.glob(args.out)
    if paths:  # expect: DL309
        load_into(state, model, optimizer, paths[-1])


def the_newest_if_any(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    path = max(Path(args.out).glob("*.pt"), default=args.resume)  # expect: DL309
    load_into(state, model, optimizer, path)


def without_one_it_begins(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    try:
        path = sorted(os.listdir(args.out))[-1]  # expect: DL309
        load_into(state, model, optimizer, path)
    except IndexError:
        print("from the start")


def begins_where_the_error_is_caught(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    try:
        paths = glob.glob(args.out)  # expect: DL309
        if not paths:
            raise FileNotFoundError(args.out)
        load_into(state, model, optimizer, max(paths))
    except FileNotFoundError:
        print("from the start")


def begins_with_a_word(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    paths = glob.glob(args.out)
    if not paths:  # expect: DL309
        return print("from the start")
    load_into(state, model, optimizer, max(paths))


def arguments_with_the_path(args):
    if os.path.exists(os.path.join(args.out, "last.pt")):
        args.resume = os.path.join(args.out, "last.pt")
    return args


def path_in_the_arguments(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    args = arguments_with_the_path(args)  # expect: DL309
    load_into(state, model, optimizer, args.resume)


def other_folder_loaded_above(args, model, optimizer):
    model = DistributedDataParallel(model)
    model.module.load_state_dict(torch.load(args.pretrained))
    step = 0
    if os.path.exists(f"{args.out}/last.pt"):  # expect: DL309
        state = torch.load(f"{args.out}/last.pt")
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    return step


def asserts_something_else(args, model, optimizer):
    model = DistributedDataParallel(model)
    if os.path.exists(args.resume):  # expect: DL309
        state = torch.load(args.resume)
        args.step = state["step"]
    else:
        assert args.epochs > 0
        args.step = 0


def evaluates_and_trains_on(args, model, optimizer):
    model = DistributedDataParallel(model)
    if os.path.exists(args.resume):  # expect: DL309
        state = torch.load(args.resume)
        optimizer.load_state_dict(state["optimizer"])
        args.step = state["step"]


def newest_of_the_engine(args, engine, model):
    # DCNv4 4b848f7 classification/main_deepspeed.py:365: rank 0 alone writes the name of the newest
    model = DistributedDataParallel(model)
    if os.path.exists(os.path.join(args.out, "latest")):  # expect: DL309
        _, state = engine.load_checkpoint(args.out)
        args.step = state["step"]


class OfFiles:
    def load_states(self, model, path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        return state


class OfShards:
    def load_shards(self, engine: deepspeed.DeepSpeedEngine, folder):
        path, state = engine.load_checkpoint(folder)
        assert path is not None
        return state


def by_a_method_of_files(args, model, strategy: OfFiles):
    model = DistributedDataParallel(model)
    if os.path.exists(args.resume):  # expect: DL309
        state = strategy.load_states(model, args.resume)
        args.step = state["step"]


# Correct


def written_out_above_the_load(args, model, optimizer):
    # HRDM eda4995 main_distributed.py:377: the newest is only shown
    dist.barrier()
    path = max(glob.glob(os.path.join(args.out, "step-*.pth")), default="")
    print(path)
    for epoch in range(args.epochs):
        if epoch > args.restarted:
            path = os.path.join(args.best, f"epoch-{epoch}.pth")
            if path:
                checkpoint = torch.load(path)
                args.step = checkpoint["step"]
                model.load_state_dict(checkpoint["model"])


def options_with_folders(args):
    # HCRD 039ae51 ddp_train_distillation.py:196: what it makes is not what is loaded
    args.log = os.path.join(args.root, "log")
    if not os.path.isdir(args.log):
        os.makedirs(args.log)
    args.teacher = os.path.join(args.root, args.teacher)
    return args


def of_a_teacher(args, model):
    dist.barrier()
    args = options_with_folders(args)
    checkpoint = torch.load(args.teacher)
    args.epoch = checkpoint["epoch"]
    model.load_state_dict(checkpoint["model"])


def by_a_method_of_the_engine(args, model, strategy: OfShards):
    # MARTI a2fe2c7 marti/trainer/ray/ppo_actor.py:495
    model = DistributedDataParallel(model)
    if os.path.exists(args.resume):
        state = strategy.load_shards(model, args.resume)
        args.step = state["step"]


def test(args, model):
    # NeuralRecon 88d7d0b main.py:228: whatever is there is evaluated
    model = DistributedDataParallel(model)
    for path in glob.glob(args.out):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        print("of epoch", state["epoch"], model(args.data))


def folder_of_the_log(args):
    # InternVideo 3965eef InternVideo1/Downstream/Video-Text-Retrieval/main_task_retrieval.py:224
    if not os.path.exists(args.out):
        os.makedirs(args.out, exist_ok=True)
    return args


def asked_for_another_folder(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    args = folder_of_the_log(args)
    if args.resume:
        load_into(state, model, optimizer, args.resume)


def asserts_that_no_path_was_given(args, model):
    # InternVideo 3965eef InternVideo2/multi_modality/tasks/shared_utils.py:126
    model = DistributedDataParallel(model)
    if args.resume.strip() and os.path.isfile(args.resume):
        state = torch.load(args.resume)
        args.step = state["step"]
    else:
        if not args.evaluate:
            assert args.resume == "", args.resume
        print("from the start")


def leaves_without_it(args, model):
    model = DistributedDataParallel(model)
    if os.path.isfile(args.resume):
        state = torch.load(args.resume)
        args.step = state["step"]
    else:
        print("no checkpoint")
        raise SystemExit(1)


def state_beside_parts(args, model, folder):
    # EleutherAI/sae e657340 sparsify/trainer.py:126
    model = DistributedDataParallel(model)
    whole = torch.load(f"{folder}/state.pt")
    for path in glob.glob(f"{folder}/rank_*_state.pt"):
        part = torch.load(path)
        whole["fired"].update(part["fired"])
    args.step = whole["step"]


def optimizer_beside_weights(args, model, optimizer, folder):
    # VideoX-Fun 804a425 scripts/flux/train_lora.py:1343
    network = DistributedDataParallel(model)
    if not args.sharded:
        model.load_state_dict(load_file(os.path.join(folder, "lora.safetensors"), device="cpu"))
        beside = os.path.join(folder, "optimizer.pt")
        if os.path.exists(beside):
            optimizer.load_state_dict(torch.load(beside)["optimizer"])
    return network


def optimizer_beside_a_whole_state(args, model, optimizer, folder):
    network = DistributedDataParallel(model)
    with torch.no_grad():
        model.load_state_dict(torch.load(os.path.join(folder, "model.pt")))
    if os.path.exists(os.path.join(folder, "optimizer.pt")):
        optimizer.load_state_dict(torch.load(os.path.join(folder, "optimizer.pt"))["optimizer"])
    return network


def by_the_engine(args, engine, model):
    # FunASR 3c58cb5 funasr/train_utils/trainer_ds.py:476
    model = DistributedDataParallel(model)
    if args.deepspeed and os.path.exists(os.path.join(args.out, "model.pt")):
        _, state = engine.load_checkpoint(args.out, "model.pt")
        args.step = state["step"]


def raises_where_none_is_found(args, state, model, optimizer):
    # openpi 15a9616 scripts/train_pytorch.py:205
    model = DistributedDataParallel(model)
    steps = [int(path.name) for path in Path(args.out).iterdir() if path.name.isdigit()]
    if not steps:
        raise FileNotFoundError(args.out)
    try:
        load_into(state, model, optimizer, f"{args.out}/{max(steps)}")
    except RuntimeError:
        print("out of memory")
        raise


def raises_for_a_length(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    paths = glob.glob(args.out)
    if len(paths) == 0:
        raise FileNotFoundError(args.out)
    load_into(state, model, optimizer, sorted(paths)[-1])


def asserts_that_there_is_one(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    paths = glob.glob(args.out)
    assert len(paths)
    load_into(state, model, optimizer, sorted(paths)[-1])


def weights_above_the_wrap(args, model, state):
    # swav 06b1b7c eval_semisup.py:143
    dist.barrier()
    if os.path.isfile(args.pretrained):
        weights = torch.load(args.pretrained)
        weights = {name.replace("module.", ""): value for name, value in weights.items()}
        model.load_state_dict(weights, strict=False)
    model = DistributedDataParallel(model)
    args.start_epoch = state["epoch"]
    return model


def weights_above_the_wrap_of_which_the_epoch_is_told(args, model):
    # Parametric-Contrastive-Learning fe56535 GPaCo/MAE-ViTs/main_finetune_gpaco_eval.py:283
    dist.barrier()
    if os.path.isfile(args.pretrained):
        checkpoint = torch.load(args.pretrained)
        model.load_state_dict(checkpoint["model"], strict=False)
        print("loaded from epoch", checkpoint["epoch"])
    if args.distributed:
        model = DistributedDataParallel(model)
    return model


def load_encoder(folder):
    return torch.load(sorted(os.listdir(folder))[-1])


def parts_from_a_listing(args, state, optimizer):
    # StyleTTS2 5cedc71 train_first.py:113: what was listed is no checkpoint
    model = DistributedDataParallel(load_encoder(args.encoder))
    load_into(state, model, optimizer, args.resume)


def told_by_rank_0(args, model, optimizer):
    dist.barrier()
    found = [os.path.isfile(args.resume)]
    dist.broadcast_object_list(found)
    if found[0]:
        checkpoint = torch.load(args.resume)
        args.start_epoch = checkpoint["epoch"]
        model.load_state_dict(checkpoint["model"])


def fails_where_it_is_missing(args, model):
    dist.barrier()
    if not os.path.isfile(args.resume):
        raise FileNotFoundError(args.resume)
    checkpoint = torch.load(args.resume)
    args.start_epoch = checkpoint["epoch"]
    model.load_state_dict(checkpoint["model"])


def asserts(args, model):
    dist.barrier()
    assert os.path.isfile(args.resume), "no checkpoint"
    checkpoint = torch.load(args.resume)
    args.start_epoch = checkpoint["epoch"]
    model.load_state_dict(checkpoint["model"])


def asked_of_the_user(args, model):
    dist.barrier()
    if args.resume:
        checkpoint = torch.load(args.resume)
        args.start_epoch = checkpoint["epoch"]
        model.load_state_dict(checkpoint["model"])


def weights_to_begin_with(args, model):
    """The same words stand elsewhere: nothing says where a training goes on."""
    dist.barrier()
    if os.path.isfile(args.pretrained):
        checkpoint = torch.load(args.pretrained)
        model.load_state_dict(checkpoint["model"])


def weights_above_the_resuming(args, model):
    dist.barrier()
    if os.path.isfile(args.pretrained):
        model.load_state_dict(torch.load(args.pretrained))
    if args.resume:
        checkpoint = torch.load(args.resume)
        args.start_epoch = checkpoint["epoch"]


def on_rank_0_alone(args, model):
    dist.barrier()
    if dist.get_rank() == 0 and os.path.isfile(args.resume):
        checkpoint = torch.load(args.resume)
        print("the best one was of epoch", checkpoint["epoch"])


def cache_of_features(args, model):
    """A cache is made anew where it is missing."""
    dist.barrier()
    if os.path.isfile(args.cache):
        return torch.load(args.cache)
    return model(args.data)


def unknown_launch(path, model):
    """Nothing shows that several ranks come here."""
    if os.path.isfile(path):
        checkpoint = torch.load(path)
        return checkpoint["epoch"]
    return 0


def rank_0_looks(args, model):
    accelerator = Accelerator()
    path = None
    if accelerator.is_main_process:
        path = sorted(glob.glob(args.out))[-1]
    if path is not None:
        accelerator.load_state(path)


def first_of_a_sorted_list(args, state, model, optimizer):
    # Amphion d3de90f models/tts/base/tts_trainer.py:304: an empty list raises, nobody begins anew
    model = DistributedDataParallel(model)
    path = args.resume
    if path is None:
        paths = [str(path) for path in Path(args.out).glob("*")]
        paths.sort(key=lambda name: int(name.split("-")[-1]), reverse=True)
        path = paths[0]
    load_into(state, model, optimizer, path)


def greatest(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    files = glob.glob(os.path.join(args.out, "epoch_*.pth"))
    newest = max(files, key=os.path.getmtime)
    load_into(state, model, optimizer, newest)


def at_once(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    load_into(state, model, optimizer, sorted(glob.glob(args.out))[-1])


def newest_in(folder):
    names = sorted(os.listdir(folder))
    return os.path.join(folder, names[-1])


def by_a_function(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    load_into(state, model, optimizer, newest_in(args.out))


def next_of_an_iterator(args, state, model, optimizer):
    model = DistributedDataParallel(model)
    load_into(state, model, optimizer, next(Path(args.out).iterdir()))


class OneOfTwoEngines:
    # modelscope/FunASR 3c58cb5 funasr/train_utils/trainer_ds.py:476: the engine's shards, written by all ranks
    def __init__(self, folder, sharded):
        self.folder = folder
        self.sharded = sharded

    def save(self, engine, epoch):
        if self.sharded:
            engine.save_checkpoint(self.folder, "engine.pt", client_state={"epoch": epoch})
        elif dist.get_rank() == 0:
            state = {"model": engine.state_dict(), "epoch": epoch}
            torch.save(state, Path(os.path.join(self.folder, "engine.pt")))

    def resume(self, engine):
        dist.barrier()
        if not self.sharded:
            return
        path = os.path.join(self.folder, "engine.pt")
        if os.path.exists(path):
            _, state = engine.load_checkpoint(self.folder, "engine.pt")
            self.epoch = state["epoch"]


def saves_by_name(args, engine, epoch):
    if args.backend == "plain" and dist.get_rank() == 0:
        state = {"model": engine.state_dict(), "epoch": epoch}
        torch.save(state, os.path.join(args.out, "by_name.pt"))


def loads_by_name(args, engine):
    dist.barrier()
    if args.backend == "deepspeed":
        path = os.path.join(args.out, "by_name.pt")
        if os.path.exists(path):
            args.start_epoch = engine.load_checkpoint(args.out, "by_name.pt")[1]["epoch"]


def test_each_that_comes(args, model, batches):
    # zju3dv/NeuralRecon 0fd2df3 main.py:228: nothing is trained on from it
    model = DistributedDataParallel(model)
    done = set()
    while True:
        for name in sorted(os.listdir(args.out)):
            if name in done:
                continue
            done.add(name)
            state = torch.load(os.path.join(args.out, name))
            model.load_state_dict(state["model"])
            epoch = state["epoch"]
            print(epoch, [model(batch) for batch in batches])


def evaluate_the_last(args, model, batches):
    model = DistributedDataParallel(model)
    path = os.path.join(args.out, "last.pt")
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        print(state["epoch"])
    return [model(batch) for batch in batches]


# Tests that choose between two paths, above a load


def goes_on_from_the_last_or_what_was_given(args, model, optimizer):
    model = DistributedDataParallel(model)
    start = 0
    if os.path.isfile(os.path.join(args.begin, "last.pt")):
        path = os.path.join(args.begin, "last.pt")
    else:
        path = args.begin
    if path:
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        start = state["epoch"] + 1
    return model, start


def goes_on_from_the_last_or_the_weights(args, model, optimizer):
    model = DistributedDataParallel(model)
    start = 0
    if os.path.isfile(os.path.join(args.begin, "last.pt")):  # expect: DL309
        path = os.path.join(args.begin, "last.pt")
    else:
        path = args.weights
    if path:
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        start = state.get("epoch", 0)
    return model, start


def in_one_line(args, model, optimizer):
    model = DistributedDataParallel(model)
    last = os.path.join(args.begin, "last.pt")
    path = last if os.path.exists(last) else args.begin
    state = torch.load(path)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def in_one_line_or_nothing(args, model, optimizer):
    model = DistributedDataParallel(model)
    last = os.path.join(args.begin, "last.pt")
    path = last if os.path.exists(last) else None  # expect: DL309
    epoch = 0
    if path is not None:
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        epoch = state["epoch"]
    return epoch


def turned_round(args, model, optimizer):
    model = DistributedDataParallel(model)
    if not os.path.isdir(args.begin):
        path = args.begin
    else:
        path = os.path.join(args.begin, "last.pt")
    state = torch.load(path)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def begins_anew_where_the_load_fails(args, model, optimizer):
    model = DistributedDataParallel(model)
    if not os.path.isdir(args.begin):  # expect: DL309
        path = args.begin
    else:
        path = os.path.join(args.begin, "last.pt")
    try:
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        epoch = state["epoch"]
    except OSError:
        epoch = 0
    return epoch


def raises_where_nothing_is(args, model, optimizer):
    # LaViLa 8002b5a main_infer_narrator.py:86
    model = DistributedDataParallel(model)
    if args.resume:
        path = args.resume
    elif os.path.isfile(os.path.join(args.out, "best.pt")):
        path = os.path.join(args.out, "best.pt")
    else:
        raise FileNotFoundError(args.out)
    state = torch.load(path)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def says_where_nothing_is(args, model, optimizer):
    model = DistributedDataParallel(model)
    path = args.begin
    if os.path.isfile(os.path.join(args.out, "last.pt")):  # expect: DL309
        path = os.path.join(args.out, "last.pt")
    else:
        print("nothing there")
    state = torch.load(path)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def optimizer_of_another_folder(args, model, optimizer, folder):
    network = DistributedDataParallel(model)
    model.load_state_dict(load_file(os.path.join(args.base, "lora.safetensors"), device="cpu"))
    beside = os.path.join(folder, "optimizer.pt")
    if os.path.exists(beside):  # expect: DL309
        optimizer.load_state_dict(torch.load(beside)["optimizer"])
    return network


def optimizer_on_the_other_arm(args, model, optimizer, folder):
    network = DistributedDataParallel(model)
    if args.sharded:
        model.load_state_dict(load_file(os.path.join(folder, "lora.safetensors"), device="cpu"))
    else:
        beside = os.path.join(folder, "optimizer.pt")
        if os.path.exists(beside):  # expect: DL309
            optimizer.load_state_dict(torch.load(beside)["optimizer"])
    return network


def weights_that_may_be_missing(args, model, optimizer, folder):
    network = DistributedDataParallel(model)
    try:
        model.load_state_dict(load_file(os.path.join(folder, "lora.safetensors"), device="cpu"))
    except OSError:
        print("no weights")
    beside = os.path.join(folder, "optimizer.pt")
    if os.path.exists(beside):  # expect: DL309
        optimizer.load_state_dict(torch.load(beside)["optimizer"])
    return network


def last_of_an_empty_listing(args, folder, state, model, optimizer):
    # Samba ed3ed54 pretrain.py:167
    model = DistributedDataParallel(model)
    resume = args.resume
    if resume is True:
        resume = sorted(folder.glob("*.pth"))[-1]
    if resume:
        load_into(state, model, optimizer, resume)


def last_where_there_is_one(args, folder, state, model, optimizer):
    model = DistributedDataParallel(model)
    resume = args.resume
    if resume is True:
        paths = sorted(folder.glob("*.pth"))  # expect: DL309
        resume = paths[-1] if paths else None
    if resume:
        load_into(state, model, optimizer, resume)


def file_of_each_rank(args, model, optimizer):
    # cosmos-rl 89f2e5b cosmos_rl/utils/checkpoint.py:669
    network = DistributedDataParallel(model)
    path = os.path.join(args.out, f"state_rank_{dist.get_rank()}.pt")
    if os.path.exists(path):
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        return state["epoch"]
    return network


def file_of_an_epoch(args, model, optimizer):
    network = DistributedDataParallel(model)
    path = os.path.join(args.out, f"state_{args.epoch}.pt")
    if os.path.exists(path):  # expect: DL309
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        return state["epoch"]
    return network


def leaves_where_asked(args, model, optimizer):
    # unsupervised-video-interpolation 55161c4 train.py:242
    network = DistributedDataParallel(model)
    if args.resume and os.path.isfile(args.resume):
        state = torch.load(args.resume)
        optimizer.load_state_dict(state["optimizer"])
        args.epoch = state["epoch"]
    elif args.resume:
        print("nothing at", args.resume)
        exit(1)
    else:
        args.epoch = 0
    return network


def leaves_under_another_option(args, model, optimizer):
    network = DistributedDataParallel(model)
    if args.resume and os.path.isfile(args.resume):  # expect: DL309
        state = torch.load(args.resume)
        optimizer.load_state_dict(state["optimizer"])
        args.epoch = state["epoch"]
    elif args.strict:
        print("nothing at", args.resume)
        exit(1)
    else:
        args.epoch = 0
    return network


def best_for_the_last_numbers(args, model, optimizer, loader):
    # CiT 5caecad main.py:341
    network = DistributedDataParallel(model)
    for epoch in range(args.epochs):
        train_for_an_epoch(network, optimizer, loader, epoch)
    best = os.path.join(args.out, "last.pt")
    if os.path.isfile(best):
        state = torch.load(best)
        network.load_state_dict(state["model"])
        print(state["epoch"])
        args.epoch = state["epoch"]
    return measure(network, loader)


def last_between_two_stages(args, model, optimizer, loader):
    network = DistributedDataParallel(model)
    for epoch in range(args.epochs):
        train_for_an_epoch(network, optimizer, loader, epoch)
    last = os.path.join(args.out, "last.pt")
    if os.path.isfile(last):  # expect: DL309
        state = torch.load(last)
        network.load_state_dict(state["model"])
        args.epoch = state["epoch"]
    for epoch in range(args.epoch, args.more):
        train_for_an_epoch(network, optimizer, loader, epoch)
    return network


def best_of_each_round(args, model, optimizer, loader):
    network = DistributedDataParallel(model)
    while args.rounds:
        for epoch in range(args.epochs):
            train_for_an_epoch(network, optimizer, loader, epoch)
        best = os.path.join(args.out, "last.pt")
        if os.path.isfile(best):  # expect: DL309
            state = torch.load(best)
            network.load_state_dict(state["model"])
            args.epoch = state["epoch"]
    return network


def file_or_none(folder, name):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        return path
    return None


def none_is_loaded(args, model, optimizer):
    # IDvs.MoRec ce372cf bce_text/main-end2end/run.py:132: `torch.load(None)` raises
    args.epoch = 0
    if args.start_from:
        path = file_or_none(args.out, args.start_from)
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        args.epoch = state["epoch"]
    return DistributedDataParallel(model)


def none_is_asked_for(args, model, optimizer):
    network = DistributedDataParallel(model)
    path = file_or_none(args.out, "last.pt")  # expect: DL309
    if path is not None:
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        args.epoch = state["epoch"]
    return network


def file_or_what_was_given(args):
    path = os.path.join(args.out, "last.pt")
    if os.path.exists(path):
        return path
    return args.first


def given_is_loaded(args, model, optimizer):
    network = DistributedDataParallel(model)
    path = file_or_what_was_given(args)  # expect: DL309
    state = torch.load(path)
    optimizer.load_state_dict(state["optimizer"])
    args.epoch = state["epoch"]
    return network


def raised_above(args, model, optimizer):
    # VISTA f73d7c2 vista2d/scripts/workflow.py:236 and 242, and 1335 in what is called
    network = DistributedDataParallel(model)
    if args.resume is not None and not os.path.exists(args.resume):
        print("nothing at", args.resume)
        raise ValueError(args.resume)
    if args.resume is not None and os.path.exists(args.resume):
        state = torch.load(args.resume)
        optimizer.load_state_dict(state["optimizer"])
        args.epoch = state["epoch"]
        resume_asking_again(args.resume, network, args)
    return network


def resume_asking_again(path, network, args):
    if not os.path.isfile(path):
        print("nothing at", path)
        return
    state = torch.load(path)
    network.load_state_dict(state["model"])
    args.epoch = state["epoch"]


def raised_for_the_strict(args, model, optimizer):
    network = DistributedDataParallel(model)
    if args.strict and not os.path.exists(args.resume):
        raise ValueError(args.resume)
    if args.resume is not None and os.path.exists(args.resume):  # expect: DL309
        state = torch.load(args.resume)
        optimizer.load_state_dict(state["optimizer"])
        args.epoch = state["epoch"]
    return network


def raised_for_another(args, model, optimizer):
    network = DistributedDataParallel(model)
    if args.resume is not None and not os.path.exists(args.settings):
        raise ValueError(args.settings)
    if args.resume is not None and os.path.exists(args.resume):  # expect: DL309
        state = torch.load(args.resume)
        optimizer.load_state_dict(state["optimizer"])
        args.epoch = state["epoch"]
    return network
