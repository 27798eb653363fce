"""From a divergence to edits: the collective that some ranks skip, put where all ranks pass.

What only wrote a file or a log stays under its guard. Decided by the syntax of one function; where the
order of statements could matter in a way that is not seen here, there is no edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from distlint.analysis.interpreter.ir import CallSite, Guard
from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.places import span_of
from distlint.analysis.program.syntax import (
    assignments,
    mentions_rank,
    own_nodes,
    statement_with_test,
)
from distlint.analysis.questions.turnstiles import has_other_half
from distlint.analysis.traces.divergence import Divergence
from distlint.edits import Delete, Edit, Insert, Move, Replace
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.repairs.blocks import block_with
from distlint.repairs.group import group_at
from distlint.repairs.group_flow import Group
from distlint.repairs.guarding import comment_behind, dedented, names_bound, source
from distlint.repairs.meeting import is_agreed
from distlint.repairs.premises import meetings_in, ranked_callers, runs_by_itself
from distlint.repairs.turning import turned

_WRITERS = frozenset({"torch.save", "safetensors.torch.save_file"})
_OF_TENSORS = frozenset(
    f"accelerate.Accelerator.{name}"
    for name in ("gather", "gather_for_metrics", "pad_across_processes", "reduce")
)
_MEASURE = pattern(
    r"loss|acc(uracy)?\b|score|metric|ppl|perplexity|bleu|rouge|psnr|ssim|fid\b|auc\b|f1\b|miou|reward"
)
_LOGGING = ("log", "logger", "logging", "print", "warnings", "tqdm", "rank_zero_info", "pbar")


_ALONE = pattern(r"""rank\w*["']?\s*(?:[,=]|!=|>|in\b|not in\b)[^\n]*-1""")
"""How files write the rank of a process that no launcher started."""

_FOR_ONE = pattern(
    r"(?i)(?<![a-z])(?:print|log|warn|info|debug|save|write|dump|export|upload|report|plot|show|send|push|touch|unlink"
    r"|add_(?:scalar|image|figure|text|hist)|mkdir|makedirs|remove|rmtree|rename|(?:copy|move)(?!_$))"
)
"""Calls by whose names one rank may write or tell something."""

_LISTINGS = frozenset({"listdir", "glob", "iglob", "iterdir", "scandir"})


@dataclass(frozen=True, slots=True)
class Hoisted:
    """Edits, what they do, and whether nothing else runs in another order than before."""

    edits: tuple[Edit, ...]
    text: str
    exact: bool


def hoist(model: Model, divergence: Divergence) -> Hoisted | None:
    """How to let all ranks take part in a collective; None where that needs a person.

    Args:
        model: the analysed project.
        divergence: where two classes of ranks part.

    Returns:
        The edits. `exact` holds where all ranks come to the guard, too.
    """
    site = divergence.event.site
    if len(divergence.guards) != 1:
        return None
    guard, function = divergence.guards[0], divergence.function
    if runs_by_itself(model, function, guard.node):
        return None
    branch = statement_with_test(function, guard.node)
    if branch is not None and guard.exits and _may_go(model, function, branch):
        text = f"Let all ranks go on in line {branch.lineno}: what follows needs all of them"
        return Hoisted((Delete(span_of(branch)),), text, False)
    if divergence.chain or divergence.act.via or site is None:
        return None
    if branch is None or site.function is not function or not isinstance(site.node, ast.Call):
        return None
    if any(_differs(g.value) for g in site.guards) or has_other_half(model, function, site.node):
        return None
    if _names_a_measure(model, function, site):
        return None
    if inner := _inner_branch(branch, site.statement):
        return _out_of_both(divergence, branch, inner, site.node, site.statement)
    asked = _asked_besides(divergence, branch, site.statement)
    if asked is None:
        return None
    if asked:
        made = _under_the_rest(divergence, branch, site.node, asked)
    elif guard.exits:
        made = _past_exit(divergence, function, branch, site.node, site.statement)
    else:
        made = _out_of_branch(divergence, branch, site.node, site.statement)
    if made is None or _comes_without_group(model, divergence, site):
        return None
    runs = model.summaries_of(function)
    everyone = runs is not None and MAIN in runs.classes and len(runs.classes) > 1
    alone = sum(1 for g in site.guards if g.value.variance is Variance.RANK_DEPENDENT) <= 1
    alike = not any(g.value.variance is Variance.RANK_LOCAL for g in site.guards)
    exact = made.exact and everyone and alone and alike and not ranked_callers(model, function)
    return Hoisted(made.edits, made.text, exact)


def _comes_without_group(model: Model, divergence: Divergence, site: CallSite) -> bool:
    """Whether a process that runs alone comes to a collective of torch which the guard has kept from it.

    Its rank is 0, or the -1 of a launcher that it has not: without a group torch raises.
    """
    if site.name.rpartition(".")[0] != "torch.distributed":
        return False
    kept_away = divergence.waiters is not MAIN or _ALONE.search(divergence.module.source.text)
    # At the collective: a test that asks the group itself raises like it.
    made = group_at(model, divergence.function, site.statement.lineno) is Group.MADE
    return bool(kept_away) and not made


def _names_a_measure(model: Model, function: Function, site: CallSite) -> bool:
    """Whether an argument is a text with a number in it that this rank has measured: a name of its own on each rank.

    Amphion d3de90f models/base/new_trainer.py:331: `"…_loss-{:.6f}".format(epoch, step, valid_loss)` is the folder
    that rank 0 saves into; on all ranks it would be as many folders.
    """
    if site.name in _OF_TENSORS or site.name.rpartition(".")[0] == "torch.distributed":
        return False  # each rank's own value is what it is for
    if any(_differs(value) for value in (*site.args, *site.keywords.values())):
        return True
    assert isinstance(site.node, ast.Call)
    given = [*site.node.args, *(keyword.value for keyword in site.node.keywords)]
    written = [*given, *(v for node in given for v in _assigned(function, node))]
    return any(_is_measured(model, function, part) for text in written for part in _formatted(text))


def _differs(value: Value) -> bool:
    """Whether a value is this rank's own: not what all ranks have read from one folder when they began.

    diffusers examples/text_to_image/train_text_to_image.py: the step to go on from is in the name of a checkpoint.
    Ranks that had read others would not be in one loop.
    """
    origin = value.origin
    listed = (
        origin is not None
        and isinstance(origin.node, ast.Call)
        and last_name(origin.node.func) in _LISTINGS
    )
    return value.variance is Variance.RANK_LOCAL and not listed


def _assigned(function: Function, node: ast.expr) -> list[ast.expr]:
    return assignments(function).get(node.id, []) if isinstance(node, ast.Name) else []


def _formatted(text: ast.expr) -> Iterator[ast.expr]:
    """What is put into the texts of an expression."""
    for node in walk(text, ast.FormattedValue, ast.Call, ast.BinOp):
        match node:
            case ast.FormattedValue(value=value):
                yield value
            case ast.Call(func=ast.Attribute(attr="format"), args=args, keywords=keywords):
                yield from args
                yield from (keyword.value for keyword in keywords)
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                yield from right.elts if isinstance(right, ast.Tuple) else [right]
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                yield value


def _is_measured(model: Model, function: Function, part: ast.expr) -> bool:
    """Whether a value has the name of a measure, and no collective has made it alike."""
    if _MEASURE.search(last_name(part).lower()) is None:
        return False
    return not any(
        isinstance(node, ast.Call)
        and (group := model.call_at(node)) is not None
        and is_agreed(model, group.site)
        for value in _assigned(function, part)
        for node in walk(value)
    )


def _rank_test(function: Function, guard: Guard, parts: Sequence[ast.expr]) -> ast.expr | None:
    """The one part of a condition that asks for the rank; None where that cannot be told."""
    origin = guard.value.origin
    inside = [part for part in parts if origin is not None and origin.node in walk(part)]
    if not inside:
        assigned = assignments(function)
        inside = [
            part
            for part in parts
            if mentions_rank(part)
            or any(mentions_rank(v) for name in _names(part) for v in assigned.get(name, ()))
        ]
    if len(inside) != 1 or any(mentions_rank(part) for part in parts if part is not inside[0]):
        return None
    return inside[0]


def _asked_besides(
    divergence: Divergence, branch: ast.If, statement: ast.stmt | None
) -> list[ast.expr] | None:
    """What else the condition asks: `a` and `b` of `a and main and b`; None where a person has to see.

    Without it the collective would come more often than before, on one process too
    (trl 0.7.7 trl/trainer/ddpo_trainer.py:329: `epoch % save_freq == 0 and is_main_process`).
    """
    test, guard = branch.test, divergence.guards[0]
    if not any(walk(test, ast.BoolOp)):
        return []
    if not isinstance(test, ast.BoolOp) or statement not in branch.body:
        return None
    rank = _rank_test(divergence.function, guard, test.values)
    # Where rank 0 takes part, it passes the test of the rank, and so does the only process.
    if rank is None or divergence.waiters is not MAIN:
        return None
    if any(walk(rank, ast.BoolOp)):
        return None
    return [] if isinstance(test.op, ast.Or) else [p for p in test.values if p is not rank]


def _under_the_rest(
    divergence: Divergence, branch: ast.If, call: ast.Call, asked: Sequence[ast.expr]
) -> Hoisted | None:
    """`if a and main: collective` becomes `if a: collective`, where nothing else is in the branch."""
    *before, statement = branch.body
    if branch.orelse or _needed(before, statement) != before:
        return None
    text = divergence.module.source.text
    rest = " and ".join(_operand(text, part, len(asked)) for part in asked)
    edits: list[Edit] = [Replace(span_of(branch.test), rest)]
    saved = _saved_state(text, call, statement)
    if saved is not None:
        edits.append(Replace(span_of(statement), saved))
        return Hoisted(tuple(edits), f"Save with `save()`, called by all ranks if `{rest}`", True)
    if not (isinstance(statement, (ast.Expr, ast.Assign)) and statement.value is call):
        return None
    if isinstance(statement, ast.Assign) and not _plain(statement):
        return None
    name = source(text, call.func)
    return Hoisted(tuple(edits), f"Call `{name}` on all ranks if `{rest}`", True)


def _operand(text: str, part: ast.expr, operands: int) -> str:
    """An operand of `and` as it was written, in parentheses where it needs them."""
    code = source(text, part)
    loose = isinstance(part, (ast.BoolOp, ast.Lambda, ast.IfExp, ast.NamedExpr))
    return f"({code})" if "\n" in code or (loose and operands > 1) else code


def _out_of_branch(
    divergence: Divergence, branch: ast.If, call: ast.Call, statement: ast.stmt
) -> Hoisted | None:
    """`if main: ...; collective; ...`: in front of the branch, or behind it."""
    block = next((b for b in (branch.body, branch.orelse) if statement in b), None)
    if block is None:
        return None
    text = divergence.module.source.text
    index = block.index(statement)
    alone = isinstance(statement, ast.Expr) and statement.value is call
    name = source(text, call.func)
    saved = _saved_state(text, call, statement)
    if saved is not None and not names_bound_in(block[:index]) & _names(statement):
        return _replaced(branch, block, statement, saved)
    if not alone and not (
        isinstance(statement, ast.Assign) and statement.value is call and _plain(statement)
    ):
        return None
    needed = _needed(block[:index], statement)
    if needed is None:
        return None
    before = [s for s in block[:index] if s not in needed]
    after = block[index + 1 :]
    if len(block) == len(needed) + 1 and not branch.orelse:
        lines = [dedented(text, s) for s in block]
        if None not in lines:
            written = [
                f"{line}{comment_behind(text, s)}" for line, s in zip(lines, block, strict=True)
            ]
            whole = Replace(span_of(branch), "\n".join(written))
            return Hoisted((whole,), f"Call `{name}` on all ranks, outside the branch", True)
    moves = tuple(Move(span_of(s), span_of(branch), prune=True) for s in needed)
    if not before or not alone:
        move = Move(span_of(statement), span_of(branch), prune=True)
        text_before = f"Call `{name}` before the branch, on all ranks"
        return Hoisted((*moves, move), text_before, not before)
    code = dedented(text, statement)
    if (
        branch.orelse
        or code is None
        or any(_exits(s) for s in before)
        or not all(_only_logs(s) for s in after)
    ):
        return None
    edits: tuple[Edit, ...] = (
        *moves,
        Delete(span_of(statement)),
        Insert(span_of(branch), code, after=True),
    )
    return Hoisted(edits, f"Call `{name}` after the branch, on all ranks", not after and not needed)


def _inner_branch(branch: ast.If, statement: ast.stmt) -> ast.If | None:
    """`if due:` in `if main:`, with a statement in it and nothing else that decides."""
    for each in branch.body:
        match each:
            case ast.If(body=body, orelse=[]) if statement in body and not branch.orelse:
                return each
    return None


def _out_of_both(
    divergence: Divergence,
    branch: ast.If,
    inner: ast.If,
    call: ast.Call,
    statement: ast.stmt,
) -> Hoisted | None:
    """`if main: if due: collective`: under the second test alone, and the rest of both under the first.

    diffusers examples/dreambooth/train_dreambooth.py, `save_state()` where a step is due for a checkpoint.
    """
    text = divergence.module.source.text
    test = source(text, inner.test)
    if not (isinstance(statement, ast.Expr) and statement.value is call) or "\n" in test:
        return None
    if isinstance(branch.test, ast.BoolOp) or not _pure(inner.test):
        return None
    index = inner.body.index(statement)
    needed = _needed(inner.body[:index], statement)
    if needed is None or any(_exits(s) for s in branch.body):
        return None
    bound = names_bound_in(branch.body) - names_bound_in(needed)
    if bound & (_names(inner.test) | _names(statement) | {n for s in needed for n in _names(s)}):
        return None
    if names_bound_in(branch.body) & _names(branch.test):
        return None
    after = inner.body[index + 1 :]
    logged = after if _logs_on_main(divergence, after) else []
    edit = turned(text, divergence.function, branch, inner, [*needed, statement, *logged])
    said = f"Call `{source(text, call.func)}` on all ranks if `{test}`"
    return None if edit is None else Hoisted((edit,), said, False)


def _logs_on_main(divergence: Divergence, statements: Sequence[ast.stmt]) -> bool:
    """Whether accelerate's loggers are called, which write on rank 0 alone (accelerate 1.15.0 logging.py)."""
    made = divergence.module.imports.get("get_logger") == "accelerate.logging.get_logger"
    return made and all("logger." in ast.unparse(s) for s in statements)


def _past_exit(
    divergence: Divergence, function: Function, branch: ast.If, call: ast.Call, statement: ast.stmt
) -> Hoisted | None:
    """`if not main: return`, then the collective: in front of the exit."""
    block = block_with(function, branch)
    if block is None or statement not in block or branch.orelse:
        return None
    if _ends_a_loop(function, branch):
        return None  # who has left does not come in the next turn: edm2 torch_utils/misc.py:194
    if any(walk(branch, ast.Raise)):
        # It is there to end the job (nanotron src/nanotron/sanity_checks.py:320).
        return None
    between = block[block.index(branch) + 1 : block.index(statement)]
    alone = isinstance(statement, ast.Expr) and statement.value is call
    if not alone and not (
        isinstance(statement, ast.Assign) and statement.value is call and _plain(statement)
    ):
        return None
    needed = _needed(between, statement)
    if needed is None or (alone and len(needed) != len(between)):
        return None  # a barrier, or a write, that waits for what stands between
    name = source(divergence.module.source.text, call.func)
    moves = tuple(Move(span_of(s), span_of(branch)) for s in (*needed, statement))
    text = f"Call `{name}` before line {branch.lineno}, where ranks leave"
    return Hoisted(moves, text, not between)


def _ends_a_loop(function: Function, branch: ast.If) -> bool:
    """Whether a rank that takes an exit takes no more turns of the loop around it."""
    loops = (ast.For, ast.AsyncFor, ast.While)
    leaves = any(walk(branch, ast.Return, ast.Break))
    return leaves and any(
        isinstance(node, loops) and any(each is branch for each in walk(node))
        for node in own_nodes(function)
    )


def _may_go(model: Model, function: Function, branch: ast.If) -> bool:
    """Whether an exit of some ranks stands in front of what needs all of them, and of nothing for one rank alone.

    With one collective behind it, that moves and the exit stays; in a loop, who has left is missing in each turn that
    follows. What is written or told without a test of the rank is for the ranks that stay.
    """
    match branch:
        case ast.If(body=[ast.Return(value=None | ast.Constant(value=None))], orelse=[]):
            pass
        case _:
            return False
    last = branch.end_lineno or branch.lineno
    below = [node for node in walk(function.node) if getattr(node, "lineno", 0) > last]
    meetings = meetings_in(model, function, sure=True)
    if sum(id(node) in meetings for node in below) < (1 if _ends_a_loop(function, branch) else 2):
        return False
    guarded = {
        id(part)
        for node in below
        if isinstance(node, ast.If) and mentions_rank(node.test)
        for part in walk(node)
    }
    alone = (n.value for n in below if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
    if any(_FOR_ONE.search(dotted_name(c.func)) for c in alone if id(c) not in guarded | meetings):
        return False
    return not any(
        found.function is function
        and found.site.node.lineno > last
        and id(found.site.node) not in guarded
        for found in model.file_calls
    )


def _saved_state(text: str, call: ast.Call, statement: ast.stmt) -> str | None:
    """`save(model, path)` in place of `torch.save(accelerator.get_state_dict(model), path)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=function, args=[saved, path], keywords=[])) if (
            saved is call and not isinstance(path, ast.Starred)
        ):
            pass
        case _:
            return None
    written = dotted_name(function)
    if written not in _WRITERS and written.rpartition(".")[2] != "save_file":
        return None
    match call:
        case ast.Call(func=ast.Attribute(attr="get_state_dict"), args=[model], keywords=[]):
            what = model
        case ast.Call(func=ast.Attribute(attr="state_dict", value=model), args=[], keywords=[]):
            what = model
        case _:
            return None
    save_fn = "" if written == "torch.save" else f", save_fn={source(text, function)}"
    return f"$save({source(text, what)}, {source(text, path)}{save_fn})"


def _replaced(
    branch: ast.If, block: Sequence[ast.stmt], statement: ast.stmt, code: str
) -> Hoisted | None:
    text = "Save with `save()`, called by all ranks"
    if len(block) == 1 and not branch.orelse:
        return Hoisted((Replace(span_of(branch), code),), text, True)
    if statement is block[0]:
        return Hoisted((Delete(span_of(statement)), Insert(span_of(branch), code)), text, True)
    if statement is block[-1] and not branch.orelse:
        return Hoisted(
            (Delete(span_of(statement)), Insert(span_of(branch), code, after=True)), text, True
        )
    return None


def _needed(before: Sequence[ast.stmt], statement: ast.stmt) -> list[ast.stmt] | None:
    """The plain assignments in front of a statement that it reads from; None where it reads others."""
    wanted = _names(statement)
    needed: list[ast.stmt] = []
    for candidate in reversed(before):
        bound = names_bound(candidate)
        if not bound & wanted:
            continue
        if not (isinstance(candidate, ast.Assign) and _plain(candidate) and _pure(candidate.value)):
            return None
        wanted = (wanted - bound) | _names(candidate.value)
        needed.insert(0, candidate)
    return needed


def _plain(statement: ast.Assign) -> bool:
    return all(isinstance(target, ast.Name) for target in statement.targets)


def _pure(node: ast.expr) -> bool:
    """Whether an expression may be evaluated earlier, and on every rank."""
    for part in walk(node):
        if isinstance(part, ast.Call):
            name = dotted_name(part.func)
            if name.rpartition(".")[2] not in ("join", "Path", "str", "format", "int", "len"):
                return False
        if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            return False
    return True


def _only_logs(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=function)):
            return dotted_name(function).split(".")[0].lower() in _LOGGING
    return False


def _exits(statement: ast.stmt) -> bool:
    return any(walk(statement, ast.Return, ast.Raise, ast.Break, ast.Continue))


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node, ast.Name) if isinstance(n.ctx, ast.Load)}


def names_bound_in(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that any of the statements binds."""
    return {name for statement in statements for name in names_bound(statement)}


__all__ = ["Hoisted", "hoist"]
