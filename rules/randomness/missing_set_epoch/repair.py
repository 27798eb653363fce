"""The call of `set_epoch` that a program lacks, and where it goes."""

from __future__ import annotations

import ast
from typing import Final

from distlint.analysis.model import Model, source_of, span_of
from distlint.analysis.program.definitions import Function, Module, dotted_name
from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.edits import Insert
from distlint.findings import Applicability, Fix
from distlint.knowledge.randomness import LOADER_MAKERS, LoaderMaker
from distlint.nodes import walk

from .epochs import EpochLoop, counter, epoch_of, told_in_vain
from .reaching import Search


def holder_of(function: Function, node: ast.AST) -> str | None:
    """The variable that holds the sampler, or what is built around it in one statement."""
    for statement in own_nodes(function, ast.Assign):
        if node in walk(statement.value):
            return ast.unparse(statement.targets[0])
    return None


def makes_sampler(model: Model, module: Module, call: ast.Call) -> LoaderMaker | None:
    """How a call makes a loader with a sampler of its own, where it is told to divide a data set that is trained on."""
    meaning = model.resolve(module, call.func)
    maker = LOADER_MAKERS.get(meaning) if isinstance(meaning, str) else None
    if maker is None:
        return None
    given = {k.arg for k in call.keywords if getattr(k.value, "value", True) not in (None, False)}
    return maker if given.issuperset((*maker.given, *maker.flags)) else None


def repaired(
    model: Model, function: Function, call: ast.Call, user: Function, loop: EpochLoop
) -> Fix:
    """The fix: an edit where the loop can name the sampler, by itself or by the loader it runs through, else advice."""
    epoch = epoch_of(user, loop) or counter(loop)
    maker = makes_sampler(model, function.module, call)
    if maker is not None:
        told = f"{maker.sampler}.set_epoch" if maker.sampler else "set_epoch"
        advice = f"Call `{told}({epoch or 'epoch'})` of the loader at the start of each epoch"
        return Fix(Applicability.DISPLAY, advice)
    if told_in_vain(user):
        advice = "Call `set_epoch()` of the new sampler, behind the line that makes it"
        return Fix(Applicability.DISPLAY, advice)
    if epoch in ("", "_"):
        advice = (
            "Count the passes over the data, and call `set_epoch(count)` of the sampler before each"
        )
        return Fix(Applicability.DISPLAY, advice)
    target = holder_of(function, call)
    advice = f"Call `set_epoch({epoch})` of the sampler at the start of each epoch"
    holder = next(
        (
            s
            for s, above in statements(function.body)
            if isinstance(s, ast.Assign)
            and s.value is call
            and not any(isinstance(a, (ast.FunctionDef, ast.ClassDef)) for a in above)
        ),
        None,
    )
    named = Search(model, function, call).in_loop(user, loop)
    asked = _test_of_the_choice(function, call, loop)
    if target is None or user is not function:
        return _told(named, epoch, loop, advice, asked if _is_global(function, user, asked) else "")
    inline = _in_loader(function, call)
    told = target if inline is None else f"{target}.sampler"
    code = f"{told}.set_epoch({epoch})"
    if any(node is call for node in walk(loop)):
        made = inline or holder
        if made is None:
            return Fix(Applicability.DISPLAY, advice)
        return Fix(
            Applicability.UNSAFE,
            f"Call `{code}` behind the line that makes it",
            (Insert(span_of(made), code, after=True),),
        )
    if not any(s is (inline or holder) for s in function.body):
        others = _other_values(function, target, call)
        if inline is None and not others and not (asked and holder is not None):
            return _told(named, epoch, loop, advice)
        asked = asked or f'hasattr({told}, "set_epoch")'
        code = f"if {asked}:\n    {code}"
    elif _is_bound_again(function, target, call.lineno):
        return _told(named, epoch, loop, advice)
    return Fix(
        Applicability.UNSAFE,
        f"Call `{code.rpartition(chr(10))[2].strip()}` at the start of each epoch",
        (Insert(span_of(loop.body[0]), code),),
    )


def _is_bound_again(function: Function, target: str, line: int) -> bool:
    """Whether a name means another sampler by the time of the loop: Qwen2-Audio-finetune 701d676 src/train_ddp.py:71."""
    return any(
        isinstance(statement, ast.Assign)
        and statement.lineno > line
        and any(dotted_name(each) == target for each in statement.targets)
        for statement in function.body
    )


def _is_global(function: Function, user: Function, test: str) -> bool:
    """Whether a test reads nothing but what a file assigns once at its top: it comes out alike in all of its functions.

    cascade-stereo 2ae7da6 CasMVSNet/train.py:63: `is_distributed = num_gpus > 1`.
    """
    if not test or user.module is not function.module:
        return False
    tree = ast.parse(test, mode="eval")
    read = {n.id for n in walk(tree, ast.Name)}
    written = assignments(user.module.body)
    own = [
        {*each.parameters, *assignments(each)}
        for each in (user, function)
        if not each.is_module_body
    ]
    return (
        not any(walk(tree, ast.Attribute))
        and all(len(written.get(name, ())) == 1 for name in read)
        and all(read.isdisjoint(names) for names in own)
    )


def _told(
    named: tuple[str, bool] | None, epoch: str, loop: EpochLoop, advice: str, asked: str = ""
) -> Fix:
    """The fix where a loop reaches the sampler by what it has, where `asked` holds if there is such a test; else the advice."""
    if named is None or not isinstance(loop, ast.For | ast.While):
        return Fix(Applicability.DISPLAY, advice)
    target, sure = named
    code = f"{target}.set_epoch({epoch})"
    asked = asked or f'hasattr({target}, "set_epoch")'
    return Fix(
        Applicability.UNSAFE,
        f"Call `{code}` at the start of each epoch",
        (
            Insert(
                span_of(loop.body[0]),
                code if sure else f"if {asked}:\n    {code}",
            ),
        ),
    )


_NEGATED: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.Gt: "<=",
}


def _test_of_the_choice(function: Function, call: ast.Call, loop: EpochLoop) -> str:
    """The author's own test by which the sampler is the distributed one; empty where it may come out otherwise later.

    waveglow 8afb643 train.py:95: `DistributedSampler(trainset) if num_gpus > 1 else None`. A branch that holds the
    loop as well chooses nothing for it (ERNIE 514cbe4 code/run_typing.py:523: all of it under `if args.do_train`).
    """
    choices = [
        node
        for node in own_nodes(function, ast.If, ast.IfExp)
        if {call, loop} & set(walk(node)) == {call}
        if not any(part.id == "__name__" for part in walk(node.test, ast.Name))
    ]
    if len(choices) != 1 or any(walk(choices[0].test, ast.Call)):
        return ""
    choice, test = choices[0], choices[0].test
    read = {ast.unparse(n) for n in walk(test, ast.Name, ast.Attribute)}
    bound = {
        ast.unparse(n)
        for n in own_nodes(function, ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Store) and n.lineno > test.lineno
    }
    if read & bound:
        return ""
    body = choice.body if isinstance(choice, ast.If) else [choice.body]
    if any(part is call for each in body for part in walk(each)):
        return source_of(function.module, test)
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _NEGATED:
            sides = (source_of(function.module, side) for side in (left, right))
            return f" {_NEGATED[type(op)]} ".join(sides)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return source_of(function.module, operand)
        case ast.Name() | ast.Attribute():
            return f"not {source_of(function.module, test)}"
    return ""


def _other_values(function: Function, target: str, call: ast.Call) -> bool:
    """Whether the variable may hold another sampler, or None, in runs on one process."""
    return any(
        ast.unparse(s.targets[0]) == target and s.value is not call
        for s in own_nodes(function, ast.Assign)
    )


def _in_loader(function: Function, call: ast.Call) -> ast.Assign | None:
    """What assigns a loader that is built around the sampler in the same expression."""
    for statement in own_nodes(function, ast.Assign):
        if isinstance(statement.value, ast.Call):
            for keyword in statement.value.keywords:
                if keyword.arg == "sampler" and keyword.value is call:
                    return statement
    return None
