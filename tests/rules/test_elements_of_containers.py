"""Methods of objects that stand in a list or dict are followed: the meters of a logger, the parts of a trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, marked

_METER = """\
from collections import OrderedDict, defaultdict

import torch.distributed as dist


class Meter:
    def __init__(self, name="", shared=True):
        self.name = name
        self.shared = shared
        self.values = []

    def reduce_values(self):
        if self.shared:
            dist.all_reduce(self.values)


class Local:
    def reduce_values(self):
        return None


"""

_LOGGER = """\
class Logger:
    def __init__(self):
        self.meters = {container}

    def add_meter(self, name, meter):
        self.meters[name] = meter

    def reduce_all(self):
        for meter in self.meters.values():
            meter.reduce_values()


def evaluate(model, batches):
    logger = Logger()
    {first}
    for batch in batches:
        logger.meters["loss"].values.append(model(batch))
    dist.barrier()
    if dist.get_rank() == 0:
        logger.reduce_all(){mark}
"""


@pytest.mark.parametrize(
    ("container", "first", "found"),
    [
        ("defaultdict(Meter)", "pass", True),
        ("defaultdict(lambda: Meter('loss'))", "pass", True),
        ("OrderedDict({'loss': Meter()})", "pass", True),
        ("{}", "logger.add_meter('loss', Meter())", True),
        ("{name: Meter(name) for name in ('loss', 'error')}", "pass", True),
        ("defaultdict(Local)", "pass", False),
        ("{'loss': Meter('loss', shared=False)}", "pass", False),
        ("{'loss': Meter(), 'local': Local()}", "pass", False),
        ("{}", "pass", False),
    ],
)
def test_a_logger_reduces_the_meters_that_it_holds(
    container: str,
    first: str,
    found: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mark = "  # here" if found else ""
    text = _METER + _LOGGER.format(container=container, first=first, mark=mark)
    assert lines_of("DL101", tmp_path, text, capsys) == marked(text)


@pytest.mark.parametrize(
    "body",
    [
        # elements of lists, by place and by turn
        "def report():\n    meters = [Meter(n) for n in 'ab']\n    if dist.get_rank() == 0:\n"
        "        for number, meter in enumerate(meters):\n"
        "            meter.reduce_values()  # here\n",
        "def report():\n    meters = []\n    meters.append(Meter('a'))\n    if dist.get_rank() == 0:\n"
        "        meters[0].reduce_values()  # here\n",
        # a container that functions hand on
        "class Trainer:\n    def __init__(self):\n        self.meters = {}\n\n"
        "    @staticmethod\n    def write(data, meters):\n        for name in data:\n"
        "            meters[name] = Meter(name)\n\n"
        "    def flush(self, meters):\n        for meter in meters.values():\n"
        "            meter.reduce_values()\n\n"
        "    def report(self, data):\n        self.write(data, self.meters)\n        dist.barrier()\n"
        "        if dist.get_rank() == 0:\n            self.flush(self.meters)  # here\n",
        # the method that two classes inherit
        "class Sum(Meter):\n    pass\n\n\nclass Mean(Meter):\n    pass\n\n\n"
        "def report():\n    meters = (Sum(), Mean())\n    if dist.get_rank() == 0:\n"
        "        for meter in meters:\n            meter.reduce_values()  # here\n",
        # all ranks
        "def report():\n    for meter in [Meter('a'), Meter('b')]:\n        meter.reduce_values()\n"
        "    meters = [Meter('a'), Meter('b')]\n    for meter in meters:\n        meter.reduce_values()\n"
        "    if dist.get_rank() == 0:\n        print(meters)\n",
        # a name that two loops use
        "def report(readers):\n    meters = [Meter(n) for n in 'ab']\n    for part in meters:\n"
        "        print(part.name)\n    if dist.get_rank() == 0:\n        for part in readers:\n"
        "            part.reduce_values()\n",
        "def report(readers):\n    meters = [Meter(n) for n in 'ab']\n    if dist.get_rank() == 0:\n"
        "        for part in readers:\n            print(part)\n"
        "        print([part.reduce_values() for part in meters])  # here\n",
        "def report(readers):\n    for part in [Meter('a'), Meter('b')]:\n        print(part)\n"
        "    meters = [Meter(n) for n in 'ab']\n    if dist.get_rank() == 0:\n        for part in meters:\n"
        "            for part in readers(part):\n                part.reduce_values()\n",
        # the keys are no meters, nor is what has another value
        "def report(reader):\n    meters = {n: Meter(n) for n in 'ab'}\n    if dist.get_rank() == 0:\n"
        "        for name in list(meters.keys()):\n            name.reduce_values()\n"
        "        for meter in meters.values():\n            meter = reader(meter)\n"
        "            meter.reduce_values()\n",
    ],
)
def test_elements_of_lists_and_dicts_have_a_class(
    body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _METER + body
    assert lines_of("DL101", tmp_path, text, capsys) == marked(text)
