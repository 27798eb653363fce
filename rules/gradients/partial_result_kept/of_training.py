"""What a training shows of itself, which is no result of the data: the checkpoint, the present batch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.handed import argument_of, calls_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.shares.values import Kind
from distlint.analysis.questions.training import goes_backward
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.shares.values import Held, Whose


def is_checkpoint(model: Model, function: Function, written: ast.expr, depth: int = 3) -> bool:
    """Whether what is written holds states, beside which one number is of the share, here or where all callers make it.

    SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:241: `best_dev_mel_loss` in the checkpoint. litehandnet 0a799ee
    train/topdown_trainer.py:17: `torch.save(save_dict, …)`, which is handed over.
    """
    made = [written]
    if isinstance(written, ast.Name):
        made += assignments(function).get(written.id, ())
    if any(_is_state(node) for each in made for node in walk(each, ast.Call, ast.Constant)):
        return True
    if not depth or not isinstance(written, ast.Name) or written.id not in function.parameters:
        return False
    given = [
        (user, argument_of(call, function, written.id))
        for user, call in calls_of(model.program, function)
    ]
    return bool(given) and all(
        value is not None and is_checkpoint(model, user, value, depth - 1) for user, value in given
    )


def _is_state(node: ast.AST) -> bool:
    """Whether a part of what is written is a state, by the call that gives it or the key that it stands under.

    VA-VAE 708b942 improved_classifier_training.py:933: `"model_state_dict": best_state`.
    """
    match node:
        case ast.Call():
            return last_name(node).endswith("state_dict")
        case ast.Constant(value=str(key)):
            return key.endswith("state_dict")
    return False


def is_of_training_batch(known: Whose, function: Function, call: ast.Call, held: Held) -> bool:
    """Whether a loop that trains writes something of its present batch, to which nothing was added.

    FollowYourPose 5dee0d7 train_followyourpose.py:338: what a preview of the batch begins with.
    """
    if held.source is None or held.source.summed is not None:
        return False
    around = [
        loop
        for loop in own_nodes(function, ast.For, ast.AsyncFor)
        if any(part is call for part in walk(loop, ast.Call))
        and any(
            known.of(part).kind is Kind.LOADER
            for part in walk(loop.iter)
            if isinstance(part, ast.expr)
        )
    ]
    return bool(around) and goes_backward(max(around, key=lambda each: each.lineno))
