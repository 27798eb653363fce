"""Cases of DL303: removals and questions on every rank, and those that are right."""

import contextlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator, DistributedType
from distlint.runtime import barrier, run_on_main
from filelock import FileLock
from lightning.pytorch import LightningModule


# --- bugs -----------------------------------------------------------------------------------------


def rotate(accelerator: Accelerator, output_dir, limit):
    # accelerate 0.22.0 accelerator.py, save_state with total_limit.
    folders = [os.path.join(output_dir, folder) for folder in os.listdir(output_dir)]
    for folder in folders[:limit]:
        if accelerator.is_main_process:
            shutil.rmtree(folder)  # expect: DL303
    accelerator.wait_for_everyone()


def replace_cache(cache, fresh):
    dist.barrier()
    # The old one.
    run_on_main(shutil.rmtree, cache)  # expect: DL303
    run_on_main(os.rename, fresh, cache)  # expect: DL303
    run_on_main(Path(cache, "lock").unlink)  # expect: DL303


class Trainer:
    # soundstorm-pytorch 0.4.9 trainer.py.
    def __init__(self, model, folder):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        if confirmed("clear?"):
            if self.accelerator.is_main_process:
                shutil.rmtree(str(folder))  # expect: DL303
            self.accelerator.wait_for_everyone()


def under_a_lock_of_threads(cache, fresh):
    dist.barrier()
    with threading.Lock():
        if not os.path.exists(cache):
            shutil.move(fresh, cache)  # expect: DL303


def under_a_lock_that_asks_nothing(cache):
    dist.barrier()
    with FileLock(f"{cache}.lock"):
        run_on_main(shutil.rmtree, cache)  # expect: DL303


def pauses(model, batch):
    dist.barrier()
    print(model(batch))
    run_on_main(input)  # expect: DL303
    run_on_main(input, "go on?")  # expect: DL303


def confirmed(question):
    answer = run_on_main(input, f"{question} (y/n) ", broadcast=True)  # expect: DL303
    return answer.lower() in ("yes", "y")


def weights_for(path):
    if not path.exists():
        if input(f"fetch {path}? ") == "y":  # expect: DL303
            fetch(path)


def started(rank, path):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    weights_for(path)


def start(path):
    torch.multiprocessing.spawn(started, args=(path,), nprocs=2)


class Views(LightningModule):
    def on_test_epoch_end(self):
        # threestudio threestudio/systems/zero123.py:388: another rank may still render into the folder
        self.save_sequence(self.folder)
        barrier()
        run_on_main(shutil.rmtree, self.folder)  # expect: DL303


def rotated_under_deepspeed(accelerator: Accelerator, model, folder):
    accelerator.wait_for_everyone()
    if accelerator.is_main_process or accelerator.distributed_type == DistributedType.DEEPSPEED:
        # finetrainers f476c37 cogvideox_text_to_video_lora.py:783: under DeepSpeed every rank comes here
        for name in os.listdir(folder)[:-2]:
            shutil.rmtree(os.path.join(folder, name))  # expect: DL303
        accelerator.save_state(folder)


def each_in_its_turn(cache):
    dist.barrier()
    with FileLock(cache + ".lock"):
        run_on_main(shutil.rmtree, cache)  # expect: DL303


def asked_before_the_lock(address, path):
    dist.barrier()
    if not os.path.exists(path):
        with FileLock(path + ".lock"):
            fetched(address, path + ".part")
            shutil.move(path + ".part", "data")  # expect: DL303


# --- right ----------------------------------------------------------------------------------------


def by_main(cache):
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(cache)
    dist.barrier()


def by_main_or_whoever_wants(accelerator: Accelerator, cache, chosen, local_main):
    accelerator.wait_for_everyone()
    if accelerator.is_main_process or chosen == accelerator.process_index:
        shutil.rmtree(cache)
    if accelerator.is_main_process and accelerator.distributed_type == DistributedType.DEEPSPEED:
        shutil.rmtree(cache)


def asked_under_a_lock(cache, fresh):
    # openpi 15a9616 src/openpi/shared/download.py:95
    dist.barrier()
    with FileLock(f"{cache}.lock"):
        if not os.path.exists(cache):
            shutil.move(fresh, cache)


def own_folder(cache):
    dist.barrier()
    shutil.rmtree(os.path.join(cache, f"rank{dist.get_rank()}"))


def tolerant(cache):
    dist.barrier()
    shutil.rmtree(cache, ignore_errors=True)
    Path(cache).unlink(missing_ok=True)
    try:
        os.remove(cache)
    except FileNotFoundError:
        print("gone")
    with contextlib.suppress(OSError):
        os.rmdir(cache)


def own_temporary(model, path):
    dist.barrier()
    temporary = f"{path}.{os.getpid()}"
    torch.save(model, temporary)
    os.remove(temporary)


def remove(path):
    # Anybody's: nothing shows that several ranks call it.
    os.remove(path)


def ask():
    return input("name? ")


def served(rank, queue):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    try:
        queue.put(input("name? "))
    except EOFError:
        queue.put("")


def serve(queue):
    name = input("whom? ")
    for rank in range(2):
        torch.multiprocessing.Process(target=served, args=(rank, queue)).start()
    return name


def fetched_once(address, path):
    # openpi 15a9616 src/openpi/shared/download.py:95
    dist.barrier()
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            part = path.with_suffix(".part")
            fetched(address, part)
            shutil.move(part, path)


def moved_once(address, path):
    dist.barrier()
    with FileLock(f"{path}.lock"):
        if not os.path.exists(path):
            moved(path)


def moved(path):
    shutil.move(path + ".part", path)


def takes_what_others_removed(folder):
    # lightweight-gan efbec45 lightweight_gan/lightweight_gan.py:1626
    dist.barrier()
    shutil.rmtree(folder, True)
    dist.barrier()


def takes_no_failure(folder):
    dist.barrier()
    run_on_main(shutil.rmtree, folder, False)  # expect: DL303


def evaluates_again(model, loader, folder):
    # AVT b082c99 func/train.py:355: a rank that has saved a checkpoint first comes late
    results = os.path.join(folder, "results")
    subprocess.call(f"rm -r {results}/*", shell=True)  # expect: DL303
    for batch in loader:
        append_to(model(batch), results)
    dist.barrier()


def append_to(lines, folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{dist.get_rank()}.txt"), "a") as f:
        f.writelines(lines)


def evaluates_anew(model, loader, folder):
    shutil.rmtree(folder, ignore_errors=True)  # expect: DL303
    os.makedirs(folder, exist_ok=True)
    torch.save(model(loader), f"{folder}/part-{dist.get_rank()}.pt")
    dist.barrier()


def evaluates_again_together(model, loader, folder):
    subprocess.call(f"rm -r {folder}/*", shell=True)
    dist.barrier()
    for batch in loader:
        append_to(model(batch), folder)


def evaluates_again_apart(model, loader, folder):
    mine = f"{folder}/{dist.get_rank()}"
    shutil.rmtree(mine, ignore_errors=True)
    torch.save(model(loader), os.path.join(mine, f"part-{dist.get_rank()}.pt"))
    dist.barrier()


def removes_other_results(model, loader, folder):
    subprocess.call(["rm", "-rf", folder + "-old"])
    torch.save(model(loader), f"{folder}/part-{dist.get_rank()}.pt")
    dist.barrier()


def chooses_between(model, loader, folder, clean):
    if clean:
        shutil.rmtree(folder, ignore_errors=True)
    if not clean:
        torch.save(model(loader), f"{folder}/part-{dist.get_rank()}.pt")
    dist.barrier()


class Board:
    def close(self):
        for path in Path("previews").glob("*.gif"):
            os.remove(path)


class ShowsOnMain:
    # STMOTR f1d2f13 trainer.py:151
    def __init__(self, config):
        self.is_master_proc = dist.get_rank() % config.processes == 0
        if config.board and self.is_master_proc:
            self.board = Board()
        else:
            self.board = None

    def fit(self):
        dist.barrier()
        if self.board is not None:
            self.board.close()


def shows_on_main(config):
    dist.init_process_group("nccl")
    trainer = ShowsOnMain(config)
    if trainer.board is not None:
        trainer.board.close()
