"""Where a program reports a number or writes a result, and whether that belongs to an evaluation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import (
    assignments,
    ends_process,
    own_nodes,
    target_names,
)
from distlint.analysis.questions.filesystem import differs_between_ranks
from distlint.analysis.questions.shares.values import Kind
from distlint.analysis.questions.training import goes_backward
from distlint.knowledge.conventions import BACKWARD
from distlint.knowledge.shares import METER_CLASSES, RANK_NAMES, RUNNERS, SYNCHRONISES
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.shares.values import Held, Whose

_LOGS: Final = frozenset(
    {
        "log", "log_metrics", "log_metric", "log_dict", "add_scalar", "add_scalars", "info", "print", "write",
        "set_postfix", "print_on_main", "print_rank_0", "log_for_0", "scalar_summary", "set_description",
    }
)  # fmt: skip
_LoopT = TypeVar("_LoopT", bound=ast.For | ast.AsyncFor | ast.While)
_CURVES: Final = pattern(r"^(?:(?:add|put|write|log|report)_scalar|scalar_summary)$")
"""Calls that draw a curve, of a name and a number."""
_OF_TRACKERS: Final = pattern(
    r"^(?:log_(?:stats|scalars?|values?|loss(?:es)?|train(?:ing)?|steps?|items)|(?:add|put|write)_scalars?\w*|report_scalar)$"
)
"""Methods of trackers and of the project's own."""
_TRACKERS: Final = pattern(r"logger|writer|tracker|tensorboard", re.IGNORECASE)
_VALUE: Final = pattern(r"\b(\w+?)_val\b")
_VALUE_OF_DICT: Final = pattern(r"(?<= )val$")
_BARS: Final = frozenset({"set_postfix", "set_description"})
_SHOWS: Final = (
    frozenset({"info", "print", "print_on_main", "print_rank_0", "log_for_0", "write"}) | _BARS
)
"""What a person looks at while it runs; not what draws curves."""
_WRITES: Final = frozenset({"dump", "save", "savez", "to_csv", "to_json", "savetxt", "writelines"})
_PATH_FIRST: Final = frozenset({"savez", "savetxt"})
_PHASE: Final = pattern(
    r"(?<![a-z])(val|valid|validation|validate|eval|evaluate|evaluation|test|dev)(?![a-z])",
    re.IGNORECASE,
)
_JUDGES: Final = pattern(
    r"(?<![a-z])(acc|accs|accuracy|bleu|rouge|f1|auc|map|miou|iou|wer|cer|fid|top|perplexity|ppl|recall|precision)"
    r"(?![a-z])",
    re.IGNORECASE,
)
"""Numbers by which nothing but an evaluation is judged."""
_METRIC: Final = pattern(
    r"loss|metric|score|reward|(?<![a-z])(error|err|kl)(?![a-z])|grad_norm", re.IGNORECASE
)
_TRAINING: Final = pattern(r"(?<![a-z])(train|training)(?![a-z])", re.IGNORECASE)
_OPTIMISES: Final = pattern(r"optim|scheduler|(?<![a-z])train(?!ed)", re.IGNORECASE)
_BOARD: Final = pattern(
    r"train(?:ing)?/(?=(?:val|valid|validation|eval|test|dev)(?![a-z]))", re.IGNORECASE
)
"""The board of curves on which an evaluation stands, too: `Train/valid_loss` (SwissArmyTransformer 63dc23a
sat/training/deepspeed_training.py:677)."""
_OF_CURVE: Final = "metric "
"""What the name of a number begins with of which a curve is drawn (GLIGEN f9dccb9 trainer.py:409: `add_scalar(k, v)`)."""
_PRESENT: Final = pattern(r"\.val\b")


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A number that a call reports: its expression, the text that names it, and how it is shown."""

    node: ast.expr
    name: str
    key: str = ""
    """The key of a dict that a function has returned, under which it stands."""
    curve: bool = False
    """Whether a curve is drawn of it: what is a rank's share is a metric then, whatever it is called."""

    def __str__(self) -> str:
        text = ast.unparse(self.node)
        return f"{text}[{self.key!r}]" if self.key else text


def shares_in(known: Whose, numbers: Iterable[Number]) -> Iterator[tuple[Number, Held]]:
    """The metrics among numbers that are of one rank's share, those in dicts by their keys.

    align-anything 3f9decc align_anything/trainers/text_to_text/sft.py:178: `self.logger.log(self.eval())`.
    """
    for number in numbers:
        held = known.of(number.node)
        if isinstance(number.node, ast.Call) and last_name(number.node) == "len":
            continue  # `len(scores)` says how much this rank has done
        inside = {} if isinstance(number.node, ast.Dict) else held.fields or {}
        named = [key for key, value in inside.items() if value.is_share and is_metric(key)]
        for key in named:
            yield Number(number.node, f"{key} {number.name}", key), inside[key]
        if (
            not named
            and held.is_share
            and held.kind is not Kind.LOADER
            and (number.curve or held.kind is Kind.MIXED or is_metric(number.name))
        ):
            prefix = _OF_CURVE if number.curve else ""
            yield replace(number, name=f"{prefix}{number.name}"), held


def is_metric(text: str) -> bool:
    """Whether a name says that it is a number by which a training is judged."""
    return _METRIC.search(text) is not None or _JUDGES.search(text) is not None


def is_evaluation(text: str, function: Function) -> bool:
    """Whether a metric is of an evaluation, by its name or by the function that it stands in."""
    text = _PRESENT.sub("", text)  # a meter's present value
    text = _BOARD.sub("", text)
    text = _VALUE.sub(lambda found: _without_value(found, function), text)
    if _VALUE_OF_DICT.search(text) and _goes_through_values(function):
        text = _VALUE_OF_DICT.sub("", text)
    if _TRAINING.search(text) is not None or not is_metric(text):
        return False
    if _PHASE.search(text) is not None:
        return True
    return _PHASE.search(function.name) is not None and not goes_backward(function.node)


def is_of_evaluation(number: Number, held: Held, function: Function, call: ast.Call) -> bool:
    """Whether a number of a share is a metric of an evaluation, by its name or by the loop that it comes out of.

    UniAfford 0b457f7 model/pointcept/engines/test.py:1039: what comes out of it is written line by line, a score of each mask.
    A meter that tells what it holds does not know whether that was put together (KB-Chat ed39d0c utils/statistics.py:116).
    """
    return is_evaluation(number.name, function) or (
        held.source is not None
        and held.source.trained is False
        and last_name(call) != "write"
        and not (function.cls is not None and METER_CLASSES.search(function.cls.name))
        and is_metric(number.name.removeprefix(_OF_CURVE))
        and not is_of_training(number.name)
    )


def says_whose(call: ast.Call) -> bool:
    """Whether a line that is shown says of which rank it is: `print(f"Rank {rank} accuracy {accuracy}")`."""
    return last_name(call) in _SHOWS and any(
        last_name(part) in RANK_NAMES
        for argument in call.args
        for part in walk(argument, ast.Name, ast.Attribute, ast.Call)
    )


def is_of_training(text: str) -> bool:
    """Whether a name says that it is a number of the training: `train_lm_loss`."""
    return is_metric(text) and _TRAINING.search(_BOARD.sub("", text)) is not None


def _without_value(found: re.Match[str], function: Function) -> str:
    """A name that ends in `val`, without that where it is the value of what is called the rest.

    rectified-flow train_ldit_imagenet256.py:766: `loss_val = float(loss.detach().item())` of the batch that is trained on.
    """
    values = assignments(function).get(found[0], ())
    of_it = [any(n.id == found[1] for n in walk(v, ast.Name)) for v in values]
    return found[1] if of_it and all(of_it) else found[0]


@remembered
def _goes_through_values(function: Function) -> bool:
    """Whether `val` is what a loop calls each value of a dict, and of no validation.

    SIMPL 2a33314 utils/logger.py:56: `for key, val in data.items():`, of the losses of a step.
    """
    for loop in own_nodes(function, ast.For):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id="val")]),
                iter=ast.Call(func=ast.Attribute(attr="items")),
            ):
                return True
    return False


def evaluates(function: Function) -> bool:
    """Whether a function is one of an evaluation, by its name, and has nothing of a training in it.

    zju3dv/NeuralRecon 0fd2df3 main.py:221: `test()` loads each checkpoint that it finds.
    """
    return _PHASE.search(function.name) is not None and not any(
        (isinstance(node, ast.Call) and last_name(node) in BACKWARD)
        or (isinstance(node, ast.Name | ast.Attribute) and _OPTIMISES.search(last_name(node)))
        for node in own_nodes(function)
    )


def reports(function: Function) -> Iterator[tuple[ast.Call, list[Number]]]:
    """The calls of a function that log numbers, with the numbers; not last words, which are of this rank alone."""
    last_words = {id(inner) for node in _last_words(function) for inner in walk(node)}
    for node in own_nodes(function, ast.Call):
        if id(node) in last_words:
            continue
        if _CURVES.match(last_name(node)) and len(node.args) > 1:
            tag, value = node.args[:2]
            yield node, [Number(value, f"{ast.unparse(tag)} {ast.unparse(value)}", curve=True)]
        elif _logs(node) and not _is_logarithm(node):
            values = [
                v for a in (*node.args, *_keyword_values(node)) for v in _written(function, a)
            ]
            numbers = [number for value in values for number in _numbers(value)]
            if numbers:
                yield node, numbers


def _logs(call: ast.Call) -> bool:
    """Whether a call logs what it is given, by its name: `logger.push(metrics)` is princeton-vl/DROID-SLAM's."""
    name = last_name(call)
    if name in _LOGS or _OF_TRACKERS.match(name):
        return True
    match call.func:
        case ast.Attribute(attr="push", value=owner):
            return _TRACKERS.search(last_name(owner)) is not None
    return False


def _last_words(function: Function) -> Iterator[ast.stmt]:
    """What stands in front of the end of the process: `print("Loss is", loss)`, `sys.exit(1)`."""
    for node in own_nodes(function, ast.If):
        match node:
            case ast.If(body=[*said, ast.Raise()]):
                yield from said
            case ast.If(body=[*said, ast.Expr(value=ast.Call(func=called))]) if ends_process(
                called
            ):
                yield from said


def is_reduced_below(function: Function, call: ast.Call, number: ast.expr) -> bool:
    """Whether a loop shows how far it has come with a number that is put together over the ranks below it.

    DALLE2-pytorch 680dfc4 train_decoder.py:495: a line for each ten batches, and a gather behind the loop. Cream
    4a13c40 TinyViT/main.py:441: `acc1_meter.sync()`.
    """
    names = {n.id for n in walk(number, ast.Name)}
    loop = _innermost(_around(own_nodes(function, ast.For, ast.While), call))
    if loop is None:
        return False
    end = loop.end_lineno or 0
    return any(
        n.lineno > end
        and SYNCHRONISES.search(last_name(n))
        and any(
            isinstance(a, ast.Name) and a.id in names
            for part in (*n.args, *([n.func] if isinstance(n.func, ast.Attribute) else []))
            for a in walk(part)
        )
        for n in own_nodes(function, ast.Call)
    )


def reduces_argument(live: LiveProgram, function: Function, node: ast.AST, value: ast.expr) -> bool:
    """Whether a call hands a value to a function of the program that puts it together over the ranks itself.

    LongVA f4c8781 longva/trl/trainer/ppo_trainer.py:773: `self._early_stop(policykl)` all-reduces its argument, in
    the arm of several ranks, before it compares it.
    """
    if not isinstance(node, ast.Call):
        return False
    group = live.call_at(node)
    callee = group.site.callee if group is not None else None
    if callee is None and function.cls is not None and dotted_name(node.func).startswith("self."):
        callee = live.program.find_method(function.cls, last_name(node.func))
    if callee is None:
        return _is_left_to_base(live, function, node)
    names = {n for n in callee.parameters if argument_of(node, callee, n) is value}
    return any(
        SYNCHRONISES.search(last_name(n))
        and any(isinstance(a, ast.Name) and a.id in names for a in n.args)
        for n in own_nodes(callee, ast.Call)
    )


def _is_left_to_base(live: LiveProgram, function: Function, call: ast.Call) -> bool:
    """Whether a method is called that a library's base class has: what it does with what it is handed is not known.

    Marg-Li-CoT 8e6898f with_trl/pretrainable_value_fn_ppo_trainer.py:206: `_early_stop()` is that of trl's PPOTrainer.
    """
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if function.cls is not None:
            return bool(live.program.mro(function.cls)[1]) and not any(
                isinstance(node.ctx, ast.Store) and node.attr == name
                for cls in live.program.mro(function.cls)[0]
                for node in walk(cls.node, ast.Attribute)
            )
    return False


def is_of_one_batch(function: Function, number: ast.expr) -> bool:
    """Whether a number is what one batch gave that was drawn for it, and nothing was added to it: a look at a sample.

    PaLM-rlhf-pytorch bd0d0f3 train.py:105: `loss = model(next(val_loader))`, printed every so often.
    """
    assigned = assignments(function)
    added = _gathers_in(function.node)
    seen: set[str] = set()
    waiting = [number]
    drawn = False
    while waiting:
        for node in walk(waiting.pop()):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                waiting += assigned.get(node.id, ())
            drawn = drawn or (isinstance(node, ast.Call) and last_name(node) == "next")
    return drawn and seen.isdisjoint(added)


def shows_progress(
    known: Whose, function: Function, call: ast.Call, number: ast.expr, held: Held
) -> bool:
    """Whether a loop over batches that trains nothing shows where it stands: on a bar, in a line every so many batches,
    or in one of each batch.

    The metric is what comes out of the loop (microsoft/Cream 4a13c40 TinyViT/main.py:441; microsoft/LoRA c4593f0
    examples/NLG/src/gpt2_ft.py:164; PonderV2 aad65d6 ponder/engines/hooks/evaluator.py:67).
    """
    if last_name(call) in _BARS and _is_added_up_beside(function, call, held):
        return True
    loop = _round_of_batches(known, function, call) if last_name(call) in _SHOWS else None
    return loop is not None and (
        last_name(call) in _BARS or _now_and_then(loop, call) or _is_of_the_batch(loop, number)
    )


def _is_added_up_beside(function: Function, call: ast.Call, held: Held) -> bool:
    """Whether the innermost loop around a bar's text adds up what it shows: the sum so far, whatever the loop goes through.

    Foundational_EMG 856fca6 train_dynamic.py:476, in a loop that trains where it is told to.
    """
    loop = _innermost(_around(own_nodes(function, ast.For, ast.AsyncFor, ast.While), call))
    added = held.source.summed if held.source is not None else None
    return (
        loop is not None
        and added is not None
        and added.place.path == function.module.path
        and loop.lineno < added.place.line <= (loop.end_lineno or 0)
    )


def is_one_of_many(known: Whose, function: Function, call: ast.Call, number: ast.expr) -> bool:
    """Whether a loop over batches logs one of them every so many, and the ranks' numbers are put together behind it.

    LaViLa 8002b5a main_pretrain.py:604: the loss of the batch is a curve of progress, and `progress.synchronize()`
    below makes the means that are returned.
    """
    loop = _round_of_batches(known, function, call)
    return (
        loop is not None
        and _now_and_then(loop, call)
        and _is_of_the_batch(loop, number)
        and any(
            n.lineno > (loop.end_lineno or 0) and SYNCHRONISES.search(last_name(n))
            for n in own_nodes(function, ast.Call)
        )
    )


def _is_of_the_batch(loop: ast.AST, number: ast.expr) -> bool:
    """Whether a number is made anew in each turn of a loop: no running total, and no meter."""
    names = {n.id for n in walk(number, ast.Name)}
    if not names.isdisjoint(_gathers_in(loop)):
        return False
    assigned = (target for part in walk(loop, ast.Assign) for target in part.targets)
    return any(name in names for target in assigned for name in target_names(target))


def _gathers_in(node: ast.AST) -> set[str]:
    """The variables that below a node something is added to: totals, lists, tables, meters."""
    found = set()
    for part in walk(node, ast.AugAssign, ast.Assign, ast.Call):
        match part:
            case (
                ast.AugAssign(target=ast.Name(id=name))
                | ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))])
                | ast.Call(func=ast.Attribute(attr="append" | "update", value=ast.Name(id=name)))
            ):
                found.add(name)
            case ast.AugAssign(target=ast.expr() as target):
                found.add(last_name(target))
    return found


def _round_of_batches(
    known: Whose, function: Function, call: ast.Call
) -> ast.For | ast.AsyncFor | None:
    """The innermost loop over batches around a call, where it trains nothing.

    makani 2dfc4c8 makani/utils/training/deterministic_trainer.py:706: the bar shows each step of a forecast of the batch.
    """
    loop = _innermost(
        n
        for n in _around(own_nodes(function, ast.For, ast.AsyncFor), call)
        if any(
            known.of(part).kind is Kind.LOADER
            for part in (*walk(n.iter), *_gone_through(function, n.iter))
            if isinstance(part, ast.expr)
        )
    )
    return None if loop is None or goes_backward(loop) else loop


def _around(loops: Iterable[_LoopT], call: ast.Call) -> Iterator[_LoopT]:
    """Those of some loops that a call stands in."""
    return (loop for loop in loops if any(part is call for part in walk(loop, ast.Call)))


def _innermost(loops: Iterable[_LoopT]) -> _LoopT | None:
    return max(loops, key=lambda each: each.lineno, default=None)


def _gone_through(function: Function, iterated: ast.expr) -> Iterator[ast.expr]:
    """What the name stands for that a loop goes through: `bar = tqdm(enumerate(loader))`.

    Diffusion_Modality 90f46de train.py:279.
    """
    for value in assignments(function).get(dotted_name(iterated), ()):
        while (
            isinstance(value, ast.Call)
            and value.args
            and last_name(value) in {*RUNNERS, "enumerate"}
        ):
            value = value.args[0]
        yield value


def _now_and_then(loop: ast.AST, call: ast.Call) -> bool:
    """Whether a call in a loop stands under a condition that holds once in so many rounds."""
    return any(
        _is_now_and_then(n.test) and any(p is call for s in n.body for p in walk(s))
        for n in walk(loop, ast.If)
    )


def _is_now_and_then(test: ast.expr) -> bool:
    """Whether a condition holds once in so many rounds: `i % 10 == 0`, `not i % 10`."""
    return any(isinstance(part.op, ast.Mod) for part in walk(test, ast.BinOp))


def _is_logarithm(node: ast.Call) -> bool:
    """Whether `log` is that of a library of numbers: `torch.log(iou + 1e-8)`."""
    return dotted_name(node.func) in ("torch.log", "np.log", "numpy.log", "math.log")


def _keyword_values(node: ast.Call) -> list[ast.expr]:
    return [k.value for k in node.keywords if k.arg not in ("step", "global_step", "file", "flush")]


def _written(function: Function, node: ast.expr) -> list[ast.expr]:
    """A dict that is logged by its name, as it was written in the function; else the expression itself.

    OpenRLHF 3c3be62 openrlhf/trainer/dpo_trainer.py:289: `logs = {…}`, `logs = strategy.all_reduce(logs)`.
    """
    if isinstance(node, ast.Name):
        values = assignments(function).get(node.id, [])
        dicts = [v for v in values if isinstance(v, ast.Dict) and v.keys]
        if dicts and len(dicts) == len(values):
            return [*dicts]
    return [node]


def _numbers(node: ast.expr) -> Iterator[Number]:
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                yield Number(value, f"{ast.unparse(key) if key else ''} {ast.unparse(value)}")
        case ast.JoinedStr(values=values):
            said = ""
            for part in values:
                if isinstance(part, ast.FormattedValue):
                    yield Number(part.value, f"{said} {ast.unparse(part.value)}")
                    said = ""
                elif isinstance(part, ast.Constant):
                    said = str(part.value)
        case (
            ast.BinOp(op=ast.Mod(), right=right)
            | ast.Call(func=ast.Attribute(value=ast.Constant(), attr="format"), args=[right, *_])
        ):
            parts = right.elts if isinstance(right, ast.Tuple) else [right]
            for each in parts:
                yield Number(each, ast.unparse(each))
        case ast.Constant():
            return
        case ast.expr():
            yield Number(node, ast.unparse(node))


def writes(function: Function) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of a function that write a result to a file, with what they write."""
    for node in own_nodes(function):
        if not isinstance(node, ast.Call):
            continue
        match node:
            case ast.Call(func=ast.Attribute(attr="write"), args=[ast.Call() as text]) if (
                last_name(text) == "dumps" and text.args
            ):
                yield node, text.args[0]
        if last_name(node) in _WRITES:
            yield from ((node, each) for each in _content(function, node))


def _content(function: Function, call: ast.Call) -> list[ast.expr]:
    """What a call writes into the file that it is told: its path is no part of that.

    Mix-of-Show 51270fd mixofshow/utils/util.py:313: `image.save(path)`, in a folder named after an element of the data.
    """
    name = last_name(call)
    if name.startswith("to_") and isinstance(call.func, ast.Attribute):
        return [call.func.value]
    owner = dotted_name(call.func).partition(".")[0]
    if name in _PATH_FIRST or function.module.imports.get(owner) == "numpy":
        return call.args[1:]
    if name == "save" and len(call.args) == 1 and not call.keywords:
        return []
    return call.args[:1]


def goes_to_own_file(live: LiveProgram, function: Function, call: ast.Call) -> bool:
    """Whether what a call writes goes into a file that each rank has for itself, by its name.

    VideoMAE 14ef8d8 engine_for_finetuning.py:222: the caller hands `str(global_rank) + ".txt"` over, and rank 0 reads
    the files of all. TorchEasyRec 54cac31 tzrec/utils/export_util.py:1573: `json.dump(…, f)` into `…-{rank:02d}-of-….json`.
    """
    return any(
        differs_between_ranks(path, function, live.callers) for path in _paths(function, call)
    )


def is_appended_by_each(live: LiveProgram, function: Function, call: ast.Call) -> bool:
    """Whether every rank adds its own line to a file that is open for that: none is the number of all.

    bitfit_dr b635516 src/util.py:200: one line for each query and document, which rank 0 reads back and merges.
    """
    group = live.call_at(call)
    if group is None or not group.by_all or len(group.classes) < 2:
        return False
    return any(
        isinstance(mode, ast.Constant) and str(mode.value).startswith("a")
        for opened in _opened(function, call)
        for mode in (*opened.args[1:2], *(k.value for k in opened.keywords if k.arg == "mode"))
    )


def _paths(function: Function, call: ast.Call) -> Iterator[ast.expr]:
    """The paths of the open files that a call writes to or is handed."""
    return (opened.args[0] for opened in _opened(function, call))


def _opened(function: Function, call: ast.Call) -> Iterator[ast.Call]:
    """What opens the files that a call writes to or is handed."""
    handles = {ast.unparse(each) for each in (*call.args[1:], *(k.value for k in call.keywords))}
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("write", "writelines"):
        handles.add(ast.unparse(call.func.value))
    for node in own_nodes(function) if handles else ():
        if isinstance(node, ast.With) and any(part is call for part in walk(node)):
            for item in node.items:
                match item:
                    case ast.withitem(
                        context_expr=ast.Call(args=[_, *_]) as opened,
                        optional_vars=ast.expr() as name,
                    ) if ast.unparse(name) in handles:
                        yield opened
