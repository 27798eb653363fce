"""What a call gives decides the conditions of what it calls: None or not, and which word."""

from __future__ import annotations

import ast
import textwrap

import pytest

from distlint.analysis import Source, build_model

HEAD = """
import torch
import torch.distributed as dist
import torch.distributed.checkpoint.state_dict as state_dicts


def gather(model):
    return state_dicts.get_model_state_dict(model)


def maybe(model):
    if model.training:
        return {"model": model}


@printed
def decorated(model):
    return {"model": model}


def convert(path, weights=None):
    write(path, state=weights)


def write(path, state=None):
    if state is None:
        dist.barrier()
    open(path)


def evaluate(model, split="train"):
    if split == "train":
        dist.barrier()
    return model


def evaluate_on(model, name):
    return evaluate(model, split=name)

"""
GIVEN = {
    "a gathered state": "weights = gather(model)\nif dist.get_rank() == 0:\n    convert(path, weights=weights)",
    "a literal": "if dist.get_rank() == 0:\n    write(path, 'all')",
    "a dict": "if dist.get_rank() == 0:\n    convert(path, {name: 1 for name in model})",
    "an object": "if dist.get_rank() == 0:\n    convert(path, torch.nn.Linear(2, 2))",
    "a sum": "if dist.get_rank() == 0:\n    write(path, state=model + 1)",
    "a moved tensor": "model = model.to('cpu')\nif dist.get_rank() == 0:\n    write(path, model)",
    "an attribute read before": "print(model.head)\nif dist.get_rank() == 0:\n    write(path, model)",
    "an item read before": "if model['head']:\n    print(path)\nif dist.get_rank() == 0:\n    write(path, model)",
    "gone through before": "for x in model:\n    print(x)\nif dist.get_rank() == 0:\n    write(path, model)",
    "tested before": "if model is None:\n    return\nif dist.get_rank() == 0:\n    convert(path, model)",
    "either way": (
        "weights = {'a': 1}\nif path:\n    weights = [model]\nif dist.get_rank() == 0:\n    write(path, weights)"
    ),
    "another word": "if dist.get_rank() == 0:\n    evaluate(model, 'val')",
    "another word, handed on": "if dist.get_rank() == 0:\n    evaluate_on(model, name='val')",
}
OPEN = {
    "nothing": "if dist.get_rank() == 0:\n    convert(path)",
    "what is not known": "if dist.get_rank() == 0:\n    convert(path, load(path))",
    "what a dict may hold": "if dist.get_rank() == 0:\n    convert(path, model.get('weights'))",
    "not on all ways": "if dist.get_rank() == 0:\n    convert(path, maybe(model))",
    "behind a decorator": "if dist.get_rank() == 0:\n    convert(path, decorated(model))",
    "read on one way": "if path:\n    print(model.head)\nif dist.get_rank() == 0:\n    write(path, model)",
    "read behind an `and`": "print(model and model.head)\nif dist.get_rank() == 0:\n    write(path, model)",
    "bound anew": (
        "print(model.head)\nmodel = load(path)\nif dist.get_rank() == 0:\n    write(path, model)"
    ),
    "read in a try": (
        "try:\n    print(model.head)\nexcept AttributeError:\n    pass\n"
        "if dist.get_rank() == 0:\n    write(path, model)"
    ),
    "the word": "if dist.get_rank() == 0:\n    evaluate(model, 'train')",
    "the word, handed on": "if dist.get_rank() == 0:\n    evaluate_on(model, name='train')",
    "the default": "if dist.get_rank() == 0:\n    evaluate(model)",
    "a word that is not known": "if dist.get_rank() == 0:\n    evaluate_on(model, path.name)",
}


def parted(body: str) -> bool:
    text = HEAD + "\ndef main(model, path):\n" + textwrap.indent(body, "    ") + "\n"
    return bool(list(build_model([Source("m.py", "m", text, ast.parse(text))]).divergences()))


@pytest.mark.parametrize("body", GIVEN.values(), ids=list(GIVEN))
def test_decided_by_the_call(body: str) -> None:
    assert not parted(body)


@pytest.mark.parametrize("body", OPEN.values(), ids=list(OPEN))
def test_left_open_by_the_call(body: str) -> None:
    assert parted(body)


def test_an_object_of_one_rank_stays_its_own() -> None:
    assert parted(
        "out = None\nif dist.get_rank() == 0:\n    out = torch.nn.Linear(2, 2)\nwrite(path, state=out)"
    )
