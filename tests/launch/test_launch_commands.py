"""The options of the launchers against the parsers of those that are installed."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from accelerate.commands.launch import launch_command_parser
from torch.distributed.run import get_args_parser
from transformers import HfArgumentParser, Seq2SeqTrainingArguments, TrainingArguments

from distlint.hardware.memory.optimizers import OPTIMIZERS
from distlint.hardware.memory.strategies import ELEMENT_BYTES, Engine, Precision
from distlint.knowledge.configuration.launchers import DDP_BYTES, LAUNCHERS, Launcher, Row
from distlint.knowledge.configuration.training_arguments import FIELDS


def row(launcher: Launcher) -> Row:
    return next(row for row in LAUNCHERS if row.launcher is launcher)


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {
        name.lstrip("-").replace("-", "_")
        for action in parser._actions
        if action.nargs == 0
        for name in action.option_strings
    }


@pytest.mark.parametrize(
    ("launcher", "parser"),
    [
        (Launcher.TORCHRUN, get_args_parser()),
        (Launcher.ACCELERATE, launch_command_parser()),
    ],
)
def test_options_without_a_value(launcher: Launcher, parser: argparse.ArgumentParser) -> None:
    assert flags(parser) <= row(launcher).flags
    takes_value = {
        name.lstrip("-").replace("-", "_")
        for action in parser._actions
        if action.nargs != 0
        for name in action.option_strings
    }
    assert not takes_value & row(launcher).flags
    assert {*row(launcher).processes, row(launcher).machines} <= takes_value
    assert takes_value <= row(launcher).others


def test_the_bytes_of_ddp_are_those_of_the_plan() -> None:
    each = ELEMENT_BYTES[Engine.TORCH, Precision.MIXED]
    adam = OPTIMIZERS["adam"].per_parameter(each.state)
    assert each.weights + each.gradients + each.master + adam == DDP_BYTES


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("transformers.TrainingArguments", TrainingArguments),
        ("transformers.Seq2SeqTrainingArguments", Seq2SeqTrainingArguments),
    ],
)
def test_fields_of_training_arguments(name: str, made: Any) -> None:
    values, others = FIELDS[name]
    for action in HfArgumentParser(made)._actions:
        names = {each.lstrip("-").replace("-", "_") for each in action.option_strings}
        if action.nargs is None:
            assert names & (values | others)
        elif action.nargs != 0:
            assert names & others
