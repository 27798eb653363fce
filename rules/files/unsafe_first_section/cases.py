"""Cases of DL306: sections that one rank runs first."""

import os
import shutil

import torch.distributed as dist
from accelerate import Accelerator
from lightning.fabric import Fabric


# --- bugs -----------------------------------------------------------------------------------------


def clears(accelerator: Accelerator, dataset, cache):
    with accelerator.main_process_first():
        shutil.rmtree(cache)  # expect: DL306
        dataset = dataset.map(len)
    return dataset


def counts(accelerator: Accelerator, dataset):
    with accelerator.local_main_process_first():
        dataset = dataset.map(len)
        total = accelerator.gather(len(dataset))  # expect: DL306
    return dataset, total


def waits_inside(accelerator: Accelerator, dataset):
    with accelerator.main_process_first():
        dataset = prepared(dataset)  # expect: DL306
    return dataset


def prepared(dataset):
    dist.barrier()
    dist.broadcast_object_list([dataset])
    return dataset


def waits_in_a_group_of_the_sections_own(fabric: Fabric, dataset):
    with fabric.rank_zero_first():
        dataset = dataset.map(len)
        fabric.barrier()  # expect: DL306
    return dataset


def waits_where_the_first_has_been(accelerator: Accelerator, staging, final):
    # gritlm 9710681 gritlm/training/gradcache_trainer.py:166
    with accelerator.main_process_first():
        if os.path.exists(staging):
            if dist.get_rank() == 0:
                os.rename(staging, final)
            dist.barrier()  # expect: DL306


# --- right ----------------------------------------------------------------------------------------


def maps(accelerator: Accelerator, dataset):
    with accelerator.main_process_first():
        dataset = dataset.map(len)
    accelerator.wait_for_everyone()
    return dataset


def waits(accelerator: Accelerator, dataset):
    # Amphion d3de90f models/vc/Noro/noro_trainer.py:102: each rank comes to two barriers; three ranks end
    with accelerator.local_main_process_first():
        dataset = dataset.map(len)
        accelerator.wait_for_everyone()
    return dataset


def waits_below(accelerator: Accelerator, dataset):
    with accelerator.main_process_first():
        dataset = waited_for(dataset)
    return dataset


def waited_for(dataset):
    dist.barrier()
    dist.barrier()
    return dataset


def clears_once(accelerator: Accelerator, cache):
    with accelerator.main_process_first():
        if accelerator.is_main_process:
            shutil.rmtree(cache)
        os.makedirs(cache, exist_ok=True)


def tolerant(accelerator: Accelerator, cache):
    with accelerator.main_process_first():
        shutil.rmtree(cache, ignore_errors=True)


def prepares_loaders(accelerator: Accelerator, loaders):
    # catalyst e99f906 catalyst/core/runner.py:277: only who draws from a prepared loader meets the others
    with accelerator.main_process_first():
        return {name: accelerator.prepare(each) for name, each in loaders.items()}


def waits_wherever_the_first_has_been(accelerator: Accelerator, staging, final):
    with accelerator.main_process_first():
        if os.path.exists(staging):
            if dist.get_rank() == 0:
                os.rename(staging, final)
        dist.barrier()


def waits_for_what_stays(accelerator: Accelerator, cache):
    with accelerator.main_process_first():
        if os.path.exists(cache):
            dist.barrier()
