"""Flags that signal handlers set: each rank's own, wherever they are kept and however the handler got there.

A mark names the kind of divergence on the line that decides. Cases without a mark are right.
"""

from __future__ import annotations

import ast
import re
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model

HEAD = """
import functools, signal, sys, threading, torch, torch.distributed as dist
class Killer:
    def __init__(self):
        self.stop = False
        signal.signal(signal.SIGTERM, self.on_signal)
    def on_signal(self, number, frame):
        self.stop = True
"""

WRONG = {
    "method": """
def train(loader):
    killer = Killer()
    for batch in loader:
        dist.all_reduce(batch)
        if killer.stop:  # decides: local
            break
    """,
    "global": """
stop = False
def on_signal(number, frame):
    global stop
    stop = True
signal.signal(signal.SIGUSR1, on_signal)
def train(loader):
    for batch in loader:
        if stop:  # decides: local
            return
        dist.all_reduce(batch)
    """,
    "imported by name": """
from signal import SIGTERM, signal
stop = False
def on_signal(number, frame):
    global stop
    stop = True
signal(SIGTERM, on_signal)
def train(loader):
    for batch in loader:
        if stop:  # decides: local
            return
        dist.all_reduce(batch)
    """,
    "partial, a key of a dict": """
def train(loader):
    flags = {"stop": False}
    def on_signal(tag, number, frame):
        flags["stop"] = True
    signal.signal(signal.SIGTERM, functools.partial(on_signal, "term"))
    while not flags["stop"]:  # decides: loop
        dist.all_reduce(next(loader))
    """,
    "nonlocal": """
def train(loader):
    stop = False
    def on_signal(number, frame):
        nonlocal stop
        stop = True
    signal.signal(signal.SIGTERM, on_signal)
    for batch in loader:
        if stop:  # decides: local
            break
        dist.all_reduce(batch)
    """,
    "lambda, an event": """
def train(loader):
    event = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: event.set())
    for batch in loader:
        if event.is_set():  # decides: local
            dist.barrier()
    """,
    "an object that is called, a registering function": """
class Compose:
    def __init__(self, handlers):
        self.handlers = handlers
    def __call__(self, number, frame):
        for handler in self.handlers:
            handler(number, frame)
class Trainer:
    def __init__(self):
        self.received = None
    def on_term(self, number, frame):
        self.received = number
    def install(self):
        handlers = []
        handlers.append(self.on_term)
        self._install(signal.SIGTERM, Compose(handlers))
    @staticmethod
    def _install(number, handler):
        signal.signal(number, handler)
    def fit(self, loader):
        self.install()
        for batch in loader:
            if self.received is not None:  # decides: local
                dist.barrier()
    """,
    "an instance with __call__": """
class Handler:
    def __init__(self):
        self.fired = False
    def __call__(self, number, frame):
        self.fired = True
def train(loader):
    handler = Handler()
    signal.signal(signal.SIGTERM, handler)
    for batch in loader:
        if handler.fired:  # decides: local
            break
        dist.all_reduce(batch)
    """,
    "what the handler calls and hands on": """
class Manager:
    def __init__(self):
        self.asked = False
    def setup(self):
        signal.signal(signal.SIGTERM, self.on_signal)
    def on_signal(self, number, frame):
        threading.Timer(3, self.ask).start()
    def ask(self):
        self.asked = True
    def step(self):
        if self.asked:  # decides: local
            dist.barrier()
    """,
    "SystemExit below, collectives above": """
class Stop(SystemExit):
    pass
class Loop:
    def __init__(self):
        self.killer = Killer()
    def step(self, batch):
        dist.all_reduce(batch)
        if self.killer.stop:  # decides: local
            raise Stop
    def run(self, loader):
        for batch in loader:
            self.step(batch)
    """,
    "sys.exit below, collectives above": """
def check(killer):
    if killer.stop:  # decides: local
        sys.exit()
def run(loader):
    killer = Killer()
    for batch in loader:
        check(killer)
        dist.all_reduce(batch)
    """,
}

RIGHT = {
    "reduced first": """
def train(loader):
    killer = Killer()
    for batch in loader:
        stop = torch.tensor(int(killer.stop))
        dist.all_reduce(stop)
        if stop.item():
            break
        dist.all_reduce(batch)
    """,
    "gathered by a method": """
class Handler:
    def __init__(self):
        self._received = False
    def __enter__(self):
        def on_signal(number, frame):
            self._received = True
        signal.signal(signal.SIGTERM, on_signal)
        return self
    def received(self):
        found = [None]
        dist.all_gather_object(found, self._received)
        return found
def train(loader, handler: Handler):
    for batch in loader:
        if any(handler.received()):
            break
        dist.all_reduce(batch)
    """,
    "another attribute": """
class Other:
    def __init__(self, config):
        self.stop = config.stop
    def run(self, batch):
        if not self.stop:
            dist.all_reduce(batch)
    """,
    "a flag that no handler sets": """
class Trainer:
    def __init__(self):
        self.stop = False
        signal.signal(signal.SIGTERM, self.on_signal)
    def on_signal(self, number, frame):
        print(number)
    def request(self):
        self.stop = True
    def run(self, batch):
        if not self.stop:
            dist.all_reduce(batch)
    """,
    "nothing distributed behind it": """
def serve(requests):
    killer = Killer()
    for request in requests:
        if killer.stop:
            break
        print(request)
    dist.barrier()
    """,
    "a failure ends all ranks": """
def check(killer):
    if killer.stop:
        sys.exit(1)
def run(loader):
    killer = Killer()
    for batch in loader:
        check(killer)
        dist.all_reduce(batch)
    """,
    "an error ends all ranks": """
def check(killer):
    if killer.stop:
        raise RuntimeError("stopped")
def run(loader):
    killer = Killer()
    for batch in loader:
        check(killer)
        dist.all_reduce(batch)
    """,
    "SystemExit that is caught at once": """
def run(batch):
    killer = Killer()
    try:
        if killer.stop:
            raise SystemExit
    except SystemExit:
        print("stopping")
    dist.all_reduce(batch)
    """,
}


def decided(text: str) -> list[tuple[int, str]]:
    """Line and kind of each divergence, by the condition that decides."""
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    return sorted((getattr(d.node, "lineno", 0), d.kind) for d in model.divergences())


@pytest.mark.parametrize("text", WRONG.values(), ids=list(WRONG))
def test_found(text: str) -> None:
    text = HEAD + dedent(text)
    marks = [
        (number, match[1])
        for number, line in enumerate(text.splitlines(), 1)
        for match in re.finditer(r"# decides: (\w+)", line)
    ]
    assert marks
    assert decided(text) == marks


@pytest.mark.parametrize("text", RIGHT.values(), ids=list(RIGHT))
def test_silent(text: str) -> None:
    assert decided(HEAD + dedent(text)) == []
