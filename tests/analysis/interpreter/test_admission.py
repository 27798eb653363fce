"""Decorators of the program's own: which ranks come to what they decorate."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model

HEAD = """
import functools
import torch
import torch.distributed as dist
from accelerate import Accelerator
from lightning.pytorch.utilities import rank_zero_only


def save_as(path):
    if dist.get_rank() == 0:
        print(path)
"""
USE = """

class Trainer:
    {factory}

    def __init__(self):
        self.accelerator = Accelerator()

    @{decorator}
    def save(self, path):
        torch.save(self.state, path)
        dist.barrier()

    def train(self):
        self.save("last.pt")
        dist.barrier()
"""

BY_NAME = """
def control(option=None, wait=False):
    def decorate(func):
        def wrapper(self, *args):
            run = getattr(self.accelerator, option)(func) if option is not None else func
            found = run(self, *args)
            if wait:
                self.accelerator.wait_for_everyone()
            return found
        return wrapper
    return decorate
"""
HANDED = """
def once(func):
    def wrapper(self, *args):
        return self.accelerator.on_main_process(func)(self, *args)
    return wrapper
"""
NAMED = """
def once(func):
    return rank_zero_only(func)
"""
DECORATED = """
def once(func):
    @rank_zero_only
    @functools.wraps(func)
    def wrapper(*args):
        return func(*args)
    return wrapper
"""
ANOTHER = """
def once(func):
    report = rank_zero_only(log)
    def wrapper(*args):
        report(*args)
        return func(*args)
    return wrapper
"""
TESTED = """
def once(func):
    @functools.wraps(func)
    def wrapper(*args):
        if dist.get_rank() == 0:
            return func(*args)
        return None
    return wrapper
"""
SENT_BACK = """
def once(func):
    def wrapper(self, *args):
        if not self.accelerator.is_main_process:
            return None
        found = func(self, *args)
        return found
    return wrapper
"""
MADE = """
def only(quiet=False):
    def decorate(func):
        def wrapper(self, *args):
            if quiet or func is None:
                print("quiet")
            if self.accelerator.is_main_process and not quiet:
                func(self, *args)
        return wrapper
    return decorate
"""
OPEN = """
def once(func):
    def wrapper(self, *args):
        if self.accelerator.is_main_process:
            print("first")
        return func(self, *args)
    return wrapper
"""
EITHER = """
def once(func):
    def wrapper(self, *args):
        if self.accelerator.is_main_process:
            return func(self, "main")
        else:
            return func(self, *args)
    return wrapper
"""
OTHERS = """
def once(func):
    def wrapper(self, *args):
        if self.accelerator.is_main_process or self.all:
            return func(self, *args)
    return wrapper
"""


def divergences(factory: str, decorator: str, *, inside: bool = False) -> int:
    written = factory.strip().replace("\n", "\n    ") if inside else "x = 1"
    text = HEAD + ("" if inside else dedent(factory))
    text += USE.format(factory=written, decorator=decorator)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    return len(list(model.divergences()))


@pytest.mark.parametrize(
    ("factory", "decorator"),
    [
        (BY_NAME, 'control("on_main_process")'),
        (BY_NAME, 'control(option="on_local_main_process", wait=True)'),
        (HANDED, "once"),
        (NAMED, "once"),
        (DECORATED, "once"),
        (TESTED, "once"),
        (SENT_BACK, "once"),
        (MADE, "only()"),
    ],
)
@pytest.mark.parametrize("inside", [False, True], ids=["module", "class"])
def test_one_rank_is_let_in(factory: str, decorator: str, inside: bool) -> None:
    assert divergences(factory, decorator, inside=inside) == 1


@pytest.mark.parametrize(
    ("factory", "decorator"),
    [
        (BY_NAME, "control()"),
        (BY_NAME, 'control("prepare")'),
        (BY_NAME, "control(CHOSEN)"),
        (ANOTHER, "once"),
        (OPEN, "once"),
        (EITHER, "once"),
        (OTHERS, "once"),
    ],
)
def test_all_ranks_are_let_in(factory: str, decorator: str) -> None:
    assert divergences(factory, decorator) == 0
