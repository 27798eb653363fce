"""Cases of DL305: existence tests followed by what they ask for, on every rank."""

import os
import shutil
import urllib.request
from pathlib import Path

import torch.distributed as dist
from accelerate import Accelerator
from transformers import TrainerCallback


# --- bugs -----------------------------------------------------------------------------------------


def directory(out):
    dist.barrier()
    if not os.path.exists(out):
        os.makedirs(out)  # expect: DL305
    folder = Path(out) / "images"
    if not folder.exists():
        folder.mkdir(parents=True)  # expect: DL305


def fetch(url, path):
    dist.barrier()
    if not os.path.isfile(path):
        # Large.
        urllib.request.urlretrieve(url, path)  # expect: DL305
    return path


class Log(TrainerCallback):
    # llamafactory 0.9.4 extras/logging.py.
    def __init__(self, folder):
        self.file = os.path.join(folder, "running.log")
        if os.path.exists(self.file):
            os.remove(self.file)  # expect: DL305

    def on_train_begin(self, args, state, control, **kwargs):
        tee = Path(args.output_dir, "debug.log")
        if tee.exists():
            tee.unlink()  # expect: DL305


# --- right ----------------------------------------------------------------------------------------


def any_number_of_times(out):
    dist.barrier()
    if not os.path.exists(out):
        os.makedirs(out, exist_ok=True)
    if os.path.exists(out + "/lock"):
        Path(out + "/lock").unlink(missing_ok=True)


def by_main(out):
    dist.barrier()
    if dist.get_rank() == 0 and not os.path.exists(out):
        os.makedirs(out)
    dist.barrier()


def main_first(accelerator: Accelerator, url, path):
    with accelerator.main_process_first():
        if not os.path.isfile(path):
            urllib.request.urlretrieve(url, path)


def own(out):
    dist.barrier()
    mine = os.path.join(out, f"rank{dist.get_rank()}")
    if os.path.exists(mine):
        shutil.rmtree(mine)


def alone(out):
    if not os.path.exists(out):
        os.makedirs(out)
