"""DL3 and the ways in which ranks let one of them go first; what only looks like it is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, marked

HEAD = """\
import contextlib
import functools
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from accelerate import Accelerator


"""

FIRST = {
    "a file that one process can make": """\
def prepare(data, path):
    made = -1
    try:
        made = os.open(path + ".lock", os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        while os.path.exists(path + ".lock"):
            pass
    else:
        if not os.path.exists(path):
            torch.save(data, path)
    finally:
        if made > 0:
            os.close(made)
            os.unlink(path + ".lock")
    dist.barrier()
    return torch.load(path)
""",
    "a file that is opened to be new": """\
def prepare(data, path):
    dist.barrier()
    try:
        with open(path + ".lock", "x") as lock:
            lock.write("one")
    except OSError:
        return
    torch.save(data, path)
    os.remove(path + ".lock")
""",
    "a turnstile by the device": """\
def is_first_here():
    return torch.cuda.current_device() == 0

def prepare(data, path):
    if dist.is_initialized() and not is_first_here():
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)
    if dist.is_initialized() and is_first_here():
        dist.barrier()
    return torch.load(path)
""",
    "a turnstile by an unknown number, in the caller": """\
def write(data, path):
    if not os.path.exists(path):
        torch.save(data, path)

def prepare(data, path, slot):
    if slot.number > 0:
        dist.barrier()
    write(data, path)
    if slot.number == 0:
        dist.barrier()
    return torch.load(path)

def by_hand(data):
    write(data, "data.pt")
""",
    "a turnstile": """\
def prepare(data, path, rank):
    if rank != 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)
    if rank == 0:
        dist.barrier()
    return torch.load(path)
""",
    "a turnstile by get_rank": """\
def prepare(data, path):
    if dist.get_rank() != 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)
    if dist.get_rank() == 0:
        dist.barrier()
    return torch.load(path)
""",
    "a turnstile of transformers 2": """\
def prepare(data, path, args):
    if args.local_rank not in [-1, 0]:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)
    if args.local_rank == 0:
        dist.barrier()
    return torch.load(path)
""",
    "a turnstile with one writer": """\
def prepare(data, path, args):
    if args.local_rank not in [-1, 0]:
        dist.barrier()
    if os.path.exists(path):
        data = torch.load(path)
    elif args.local_rank in [-1, 0]:
        torch.save(data, path)
    if args.local_rank == 0:
        dist.barrier()
    return data
""",
    "a turnstile in try and finally": """\
def prepare(data, path):
    if dist.get_rank() > 0:
        dist.barrier()
    try:
        if not os.path.exists(path):
            torch.save(data, path)
    finally:
        if dist.get_rank() == 0:
            dist.barrier()
    return torch.load(path)
""",
    "a turnstile by the local rank": """\
def prepare(data, path):
    local_rank = int(os.environ["LOCAL_RANK"])
    if local_rank != 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)
    if local_rank == 0:
        dist.barrier()
""",
    "a turnstile by a flag": """\
def prepare(data, path):
    accelerator = Accelerator()
    if not accelerator.is_main_process:
        accelerator.wait_for_everyone()
    if not os.path.exists(path):
        torch.save(data, path)
    if accelerator.is_main_process:
        accelerator.wait_for_everyone()
""",
    "main_process_first": """\
def prepare(data, path):
    accelerator = Accelerator()
    with accelerator.main_process_first():
        if not os.path.exists(path):
            torch.save(data, path)
    return torch.load(path)
""",
    "local_main_process_first": """\
def prepare(data, path):
    accelerator = Accelerator()
    with accelerator.local_main_process_first():
        if not os.path.exists(path):
            torch.save(data, path)
""",
    "a context manager of its own": """\
@contextmanager
def one_first(rank):
    if rank != 0:
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()


def prepare(data, path):
    with one_first(dist.get_rank()):
        if not os.path.exists(path):
            torch.save(data, path)
    dist.barrier()
""",
    "torch_distributed_zero_first": """\
@contextmanager
def torch_distributed_zero_first(local_rank: int):
    if local_rank not in [-1, 0]:
        dist.barrier(device_ids=[local_rank])
    yield
    if local_rank == 0:
        dist.barrier(device_ids=[0])


def prepare(data, path, local_rank):
    with torch_distributed_zero_first(local_rank):
        if not os.path.exists(path):
            torch.save(data, path)
    dist.barrier()
""",
    "a context manager with try and finally": """\
@contextlib.contextmanager
def ordered():
    rank = dist.get_rank()
    try:
        if rank > 0:
            dist.barrier()
        yield
    finally:
        if rank == 0:
            dist.barrier()


def prepare(data, path):
    with ordered():
        if not os.path.exists(path):
            torch.save(data, path)
    dist.barrier()
""",
    "a context manager with two yields": """\
@contextmanager
def ordered(first):
    if first:
        yield
        dist.barrier()
    else:
        dist.barrier()
        yield


def prepare(data, path):
    with ordered(dist.get_rank() == 0):
        if not os.path.exists(path):
            torch.save(data, path)
    dist.barrier()
""",
    "a class with __enter__ and __exit__": """\
class Ordered:
    def __enter__(self):
        if dist.get_rank() != 0:
            dist.barrier()

    def __exit__(self, *error):
        if dist.get_rank() == 0:
            dist.barrier()


def prepare(data, path):
    with Ordered():
        if not os.path.exists(path):
            torch.save(data, path)
    dist.barrier()
""",
    "a context manager beside another": """\
@contextmanager
def ordered():
    if dist.get_rank() != 0:
        dist.barrier()
    yield
    if dist.get_rank() == 0:
        dist.barrier()


def prepare(data, path):
    with torch.no_grad(), ordered():
        if not os.path.exists(path):
            torch.save(data, path)
    dist.barrier()
""",
    "a context manager whose body calls": """\
@contextmanager
def ordered():
    if dist.get_rank() != 0:
        dist.barrier()
    yield
    if dist.get_rank() == 0:
        dist.barrier()


def build(data, path):
    if not os.path.exists(path):
        torch.save(data, path)


def prepare(data, path):
    with ordered():
        build(data, path)
    dist.barrier()
""",
    "the main process, then a barrier": """\
def prepare(data, path):
    if dist.get_rank() == 0 and not os.path.exists(path):
        torch.save(data, path)
    dist.barrier()
    return torch.load(path)
""",
    "the main process alone, then the others": """\
def prepare(data, path):
    if dist.get_rank() == 0:
        torch.save(data, path)
        dist.barrier()
    else:
        dist.barrier()
        data = torch.load(path)
    return data
""",
    "a decorator for the main process": """\
def main_only(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)
        return None
    return wrapped


@main_only
def write(data, path):
    torch.save(data, path)


def prepare(data, path):
    dist.barrier()
    write(data, path)
    dist.barrier()
    return torch.load(path)
""",
    "a decorator that lets one go first": """\
def main_first(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if dist.get_rank() != 0:
            dist.barrier()
        result = function(*args, **kwargs)
        if dist.get_rank() == 0:
            dist.barrier()
        return result
    return wrapped


@main_first
def build(data, path):
    if not os.path.exists(path):
        torch.save(data, path)


def prepare(data, path):
    build(data, path)
    dist.barrier()
    return torch.load(path)
""",
    "a directory that all may make": """\
def prepare(path):
    os.makedirs(path, exist_ok=True)
    dist.barrier()
""",
    "a directory that one makes": """\
def prepare(path):
    if dist.get_rank() == 0:
        os.makedirs(path)
    dist.barrier()
""",
    "a directory for each": """\
def prepare(path):
    os.makedirs(os.path.join(path, str(dist.get_rank())))
    dist.barrier()
""",
    "one rank after the other": """\
def prepare(data, path):
    for turn in range(dist.get_world_size()):
        if turn == dist.get_rank() and not os.path.exists(path):
            torch.save(data, path)
        dist.barrier()
""",
    "a caller in turn beside one of a single process": """\
def fetch(data, path):
    if not os.path.exists(path):
        torch.save(data, path)
    return torch.load(path)


def train(data, path, accelerator):
    with accelerator.main_process_first():
        fetch(data, path)
    accelerator.wait_for_everyone()


def validate(data, path):
    return fetch(data, path)
""",
}

UNORDERED = {
    "a file that each process can make": """\
def prepare(data, path):
    made = -1
    try:
        made = os.open(path + ".lock", os.O_CREAT)
    except FileExistsError:
        pass
    else:
        torch.save(data, path)  # here
    dist.barrier()
    return torch.load(path)
""",
    "whoever comes behind a file that one process can make": """\
def prepare(data, path):
    made = -1
    try:
        made = os.open(path + ".lock", os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        pass
    torch.save(data, path)  # here
    os.remove(path + ".lock")  # here
    dist.barrier()
    return torch.load(path)
""",
    "a variable that all have": """\
def prepare(data, path):
    made = 1
    try:
        made = os.open(path + ".lock", os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        pass
    if made > 0:
        torch.save(data, path)  # here
    dist.barrier()
    return torch.load(path)
""",
    "two waits by one device": """\
def prepare(data, path):
    if torch.cuda.current_device() == 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)  # here
    if torch.cuda.current_device() == 0:
        dist.barrier()
    dist.barrier()
    return torch.load(path)
""",
    "waits by two unknown numbers": """\
def prepare(data, path, slot, other):
    if slot.number > 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)  # here
    if other.number == 0:
        dist.barrier()
    dist.barrier()
    return torch.load(path)
""",
    "a caller that takes no turn": """\
def write(data, path):
    if not os.path.exists(path):
        torch.save(data, path)  # here

def prepare(data, path, slot):
    if slot.number > 0:
        dist.barrier()
    write(data, path)
    if slot.number == 0:
        dist.barrier()
    return torch.load(path)

def at_once(data, path):
    write(data, path)
    dist.barrier()
""",
    "a caller of all ranks beside one in turn": """\
def fetch(data, path):
    if not os.path.exists(path):
        torch.save(data, path)  # here
    return torch.load(path)


def train(data, path, accelerator):
    with accelerator.main_process_first():
        fetch(data, path)
    accelerator.wait_for_everyone()


def validate(data, path, accelerator):
    fetch(data, path)
    accelerator.wait_for_everyone()
""",
    "no turnstile at all": """\
def prepare(data, path):
    if not os.path.exists(path):
        torch.save(data, path)  # here
    dist.barrier()
""",
    "the barrier behind the block of all": """\
def prepare(data, path):
    if not os.path.exists(path):
        torch.save(data, path)  # here
    if dist.get_rank() != 0:
        dist.barrier()
    if dist.get_rank() == 0:
        dist.barrier()
""",
    "a barrier on each side": """\
def prepare(data, path):
    dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)  # here
    dist.barrier()
""",
    "the write behind the turnstile": """\
def prepare(data, path):
    if dist.get_rank() != 0:
        dist.barrier()
    print("first")
    if dist.get_rank() == 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save(data, path)  # here
""",
    "a context manager that waits on both sides": """\
@contextmanager
def together():
    dist.barrier()
    yield
    dist.barrier()


def prepare(data, path):
    with together():
        if not os.path.exists(path):
            torch.save(data, path)  # here
""",
    "a context manager that only times": """\
@contextmanager
def timed():
    if dist.get_rank() == 0:
        print("start")
    yield
    if dist.get_rank() == 0:
        print("end")


def prepare(data, path):
    with timed():
        if not os.path.exists(path):
            torch.save(data, path)  # here
    dist.barrier()
""",
    "behind the context manager": """\
@contextmanager
def ordered():
    if dist.get_rank() != 0:
        dist.barrier()
    yield
    if dist.get_rank() == 0:
        dist.barrier()


def prepare(data, path):
    with ordered():
        print("first")
    if not os.path.exists(path):
        torch.save(data, path)  # here
    dist.barrier()
""",
    "main writes, the others read at once": """\
def prepare(data, path):
    if dist.get_rank() == 0:
        torch.save(data, path)
    data = torch.load(path)  # here
    dist.barrier()
    return data
""",
    "main writes if it is asked to, the others read at once": """\
def prepare(data, path, skip):
    if dist.get_rank() == 0 and not skip:
        torch.save(data, path)
    data = torch.load(path)  # here
    dist.barrier()
    return data
""",
    "a directory that all make": """\
def prepare(path):
    os.makedirs(path)  # here
    dist.barrier()
""",
    "the barrier before main writes": """\
def prepare(data, path):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(data, path)
    return torch.load(path)  # here
""",
    "a decorator that does nothing of the kind": """\
def logged(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        print(dist.get_rank())
        return function(*args, **kwargs)
    return wrapped


@logged
def build(data, path):
    torch.save(data, path)  # here
    dist.barrier()
""",
}


@pytest.mark.parametrize("text", FIRST.values(), ids=FIRST)
def test_one_goes_first(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("DL301,DL302,DL303,DL305,DL306", tmp_path, HEAD + text, capsys) == []


@pytest.mark.parametrize("text", UNORDERED.values(), ids=UNORDERED)
def test_all_at_once(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = lines_of("DL301,DL302,DL303,DL305,DL306", tmp_path, HEAD + text, capsys)
    assert found == marked(HEAD + text)
