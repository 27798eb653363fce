"""Cases of DL306: sections that one rank runs first."""

import os
import shutil

import torch.distributed as dist
from accelerate import Accelerator


# --- bugs -----------------------------------------------------------------------------------------


def clears(accelerator: Accelerator, dataset, cache):
    with accelerator.main_process_first():
        shutil.rmtree(cache)  # expect: DL306
        dataset = dataset.map(len)
    return dataset


def waits(accelerator: Accelerator, dataset):
    with accelerator.local_main_process_first():
        dataset = dataset.map(len)
        accelerator.wait_for_everyone()  # expect: DL306
    return dataset


def waits_inside(accelerator: Accelerator, dataset):
    with accelerator.main_process_first():
        dataset = prepared(dataset)  # expect: DL306
    return dataset


def prepared(dataset):
    dist.barrier()
    return dataset


# --- right ----------------------------------------------------------------------------------------


def maps(accelerator: Accelerator, dataset):
    with accelerator.main_process_first():
        dataset = dataset.map(len)
    accelerator.wait_for_everyone()
    return dataset


def clears_once(accelerator: Accelerator, cache):
    with accelerator.main_process_first():
        if accelerator.is_main_process:
            shutil.rmtree(cache)
        os.makedirs(cache, exist_ok=True)


def tolerant(accelerator: Accelerator, cache):
    with accelerator.main_process_first():
        shutil.rmtree(cache, ignore_errors=True)
