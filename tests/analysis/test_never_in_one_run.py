"""Two places to which no run comes both, by what an option of the command line is."""

from __future__ import annotations

import ast

import pytest

from distlint.analysis import Source, build_model
from distlint.analysis.questions.without_group import never_in_one_run

SCRIPT = """
from torch.utils.data import DataLoader, DistributedSampler


def loader_for(args, data):
    if {sampled}:
        return DataLoader(data, sampler=DistributedSampler(data))
    return DataLoader(data)


class Imputing:
    def __init__(self, args):
        super(Imputing, self).__init__()
        self.args = args

    def validate(self, data):
        return score(loader_for(self.args, data))


def main(args):
    if {chosen}:
        task = Imputing(args)
    else:
        task = {other}(args)
    task.validate(read(args))


main(options())
"""


@pytest.mark.parametrize(
    ("sampled", "chosen", "other", "never"),
    [
        ("args.task == 'forecast'", "args.task == 'impute'", "Forecasting", True),
        ("args.task == 'forecast'", "args.task == 'forecast'", "Forecasting", False),
        ("args.task == 'forecast'", "args.task == 'impute'", "Imputing", False),
        ("args.task == 'forecast'", "args.task != 'forecast'", "Forecasting", True),
        ("args.whole", "not args.whole", "Forecasting", True),
        ("args.whole", "args.task == 'impute'", "Forecasting", False),
        ("args.rank == 0", "args.rank == 1", "Forecasting", False),
    ],
)
def test_a_class_of_another_option(sampled: str, chosen: str, other: str, never: bool) -> None:
    """Large-Time-Series-Model 1ff8d1a exp/exp_imputation.py:165."""
    text = SCRIPT.format(sampled=sampled, chosen=chosen, other=other)
    program = build_model([Source("m.py", "m", text, ast.parse(text))]).program
    lines = text.splitlines()
    sampler, read = (
        next(n for n, line in enumerate(lines, 1) if word in line)
        for word in ("sampler=", "return score")
    )
    module = program.modules["m"]
    assert never_in_one_run(program, (module, sampler), (module, read)) is never
