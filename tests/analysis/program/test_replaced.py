"""Definitions that a later one of the same name replaces: nobody calls them."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model

HEAD = "import torch.distributed as dist\n"
ALONE = "if dist.get_rank() == 0: dist.barrier()"


def divergences(text: str) -> int:
    text = HEAD + dedent(text).replace("ALONE", ALONE)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    return len(list(model.divergences()))


@pytest.mark.parametrize(
    "text",
    [
        """
        def save(path):
            ALONE

        def save(path, epoch):
            write(path, epoch)
        """,
        """
        class Trainer:
            @staticmethod
            def save(path):
                ALONE

            def log(self):
                self.save(1)

            @torch.no_grad()
            def save(self, path):
                write(path)
        """,
        """
        def train():
            def step():
                ALONE
            total = 0
            def step():
                return total
            step()
        """,
        """
        class Saver:
            def save(self):
                ALONE

        class Saver:
            def save(self):
                write(self)
        """,
        """
        def save():
            ALONE

        def main():
            save()

        def save():
            write(1)

        main()
        """,
    ],
    ids=["function", "method", "nested", "class", "called below both"],
)
def test_what_is_replaced_runs_nowhere(text: str) -> None:
    assert divergences(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        """
        def save():
            ALONE
        save()

        def save():
            write(1)
        """,
        """
        def save():
            ALONE

        def main():
            save()
        main()

        def save():
            write(1)
        """,
        """
        @command
        def _(path):
            ALONE

        @command
        def _(path, epoch):
            write(path)
        """,
        """
        class Trainer:
            @property
            def saved(self):
                ALONE

            @saved.setter
            def saved(self, value):
                write(value)
        """,
        """
        def save():
            ALONE

        hooks = [save]

        def save():
            write(1)
        """,
        """
        class Saver:
            def save(self):
                ALONE

        class Saver(Saver):
            pass
        """,
        """
        if fast:
            def save():
                ALONE
        else:
            def save():
                write(1)
        """,
        """
        def save():
            ALONE

        @cached(of=save)
        def save():
            write(1)
        """,
    ],
    ids=["called", "through another", "registered", "setter", "kept", "base", "arms", "decorator"],
)
def test_what_is_used_before_it_is_replaced_runs(text: str) -> None:
    assert divergences(text) == 1
