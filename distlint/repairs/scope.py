"""What the code at a place can name already: a test of rank 0, ranks, an accelerator, the group.

A fix that takes these over reads like the code around it, and needs no second variable of the same meaning.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import AttributeSite, CallSite
from distlint.analysis.interpreter.ranks import MAIN, RankClass
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.model import Model, source_of
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import (
    assignments,
    default_of,
    mentions_rank,
    own_nodes,
)
from distlint.analysis.questions.wrapped import call_of_wrap, under_condition
from distlint.knowledge import facts
from distlint.knowledge.configuration.launchers import SET_BY
from distlint.knowledge.conventions import NAMED_RANKS
from distlint.knowledge.versions import TRAINER_WITH_ACCELERATOR
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.repairs.blocks import blocks
from distlint.repairs.group import GROUP_QUESTIONS, group_at, tests_of_group
from distlint.repairs.group_flow import Group, negated

if TYPE_CHECKING:
    from distlint.analysis.program.program import Program


@dataclass(frozen=True, slots=True)
class Scope:
    """Code for what a place can name; empty where it cannot."""

    main: str = ""
    """A test that holds on rank 0 alone."""
    rank: str = ""
    local_rank: str = ""
    of_launcher: bool = False
    """Whether `local_rank` asks the launcher anew: the file itself asks nobody."""
    world_size: str = ""
    accelerator: str = ""
    """An `accelerate.Accelerator`."""
    distributed: str = ""
    """`torch.distributed`, as the file knows it, where the group is made on every way."""
    barrier: str = ""
    """A call for which all ranks meet."""
    barrier_if: str = ""
    """A test, as the file writes it, without which there is no group to call `barrier` in; empty where there always is."""
    only_ddp: frozenset[str] = frozenset()
    """Expressions that are a model in DDP and nothing else, on every path."""
    known_ddp: frozenset[str] = frozenset()
    """Those of `only_ddp` that the function itself wraps, or whose `.module` the file reads elsewhere."""


_TRAINER: Final = Scope(
    main="self.is_world_process_zero()",  # transformers 5.0.0 trainer.py
    local_rank="self.args.local_process_index",  # training_args.py
    world_size="self.args.world_size",
    barrier="self.accelerator.wait_for_everyone()",
)
_FRAMEWORKS: Final[dict[str, Scope]] = {
    # Before trl 0.12 no Trainer of transformers (0.8.6 trainer/ppo_trainer.py); it has its Accelerator in all versions.
    "trl.PPOTrainer": Scope(
        main="self.accelerator.is_main_process", barrier="self.accelerator.wait_for_everyone()"
    ),
    "transformers.Trainer": _TRAINER,
    # transformers 5.0.0 trainer_callback.py, TrainerState: what every hook is given.
    "transformers.TrainerCallback": Scope(main="state.is_world_process_zero"),
    "lightning.pytorch.LightningModule": Scope(
        main="self.trainer.is_global_zero",  # lightning 2.5 pytorch/trainer/trainer.py
        local_rank="self.local_rank",  # pytorch/core/module.py
        rank="self.global_rank",
    ),
}
"""What a method of a framework's class may ask of `self`."""

_ASKED_OF_SELF: Final = ("main", "rank", "local_rank", "world_size", "barrier")

_ACCELERATOR: Final = {
    "main": "{}.is_main_process",
    "rank": "{}.process_index",
    "local_rank": "{}.local_process_index",
    "world_size": "{}.num_processes",
    "barrier": "{}.wait_for_everyone()",
}
"""What `accelerate.Accelerator` has (1.15.0 accelerator.py)."""

_OF_TRAINER: Final = {
    # LLMBox 5a1cfe2 training/ppo.py:236, with trl 0.8.6.
    "trl.PPOTrainer": {
        "main": "{}.accelerator.is_main_process",
        "barrier": "{}.accelerator.wait_for_everyone()",
    },
    # 5.0.0 trainer.py
    "transformers.Trainer": {
        "main": "{}.is_world_process_zero()",
        "barrier": "{}.accelerator.wait_for_everyone()",
    },
    # lightning 2.5 pytorch/trainer/trainer.py; asteroid 0.6 egs/librimix/ConvTasNet/train.py:111, behind `fit`
    "lightning.pytorch.Trainer": {"main": "{}.is_global_zero"},
}
"""What an object of a framework's trainer has."""

_GROUP: Final = {
    "main": "{}.get_rank() == 0",
    "rank": "{}.get_rank()",
    "world_size": "{}.get_world_size()",
    "barrier": "{}.barrier()",
}
"""What the default process group answers, where there is one."""

_FOR_WORDS: Final = pattern(
    r"print|verbose|progress|tqdm|quiet|(?:^|_)(?:log|logs|logging|show)(?:$|_)", re.I
)

_NO_LOCAL_RANK: Final = pattern(
    r"""local[_-]rank["'][^\n]*default\s*=\s*-1|LOCAL_RANK["'],\s*["']?-1"""
)
"""A local rank that is -1 on one process: no index of a device."""

_LOCAL_RANK_OPTION: Final = pattern(r"""add_argument\([^()]*["']--local[_-]rank["']""")
"""An option by which a launcher hands each process its local rank (torch 2.13.0 distributed/launch.py)."""

_AMONG_ALL: Final = pattern(r"(?<!local_)(?:get_rank\(|process_index|\brank\b)|[\"']RANK[\"']")
"""What counts the ranks of all machines."""

_FROM_ENVIRONMENT: Final = pattern(
    r"""int\(os\.(?:environ\['(\w+)'\]|(?:environ\.get|getenv)\('(\w+)'(?:, '?0'?)?\))\)"""
)
"""How code asks the launcher for a rank (torch 2.13.0 distributed/run.py, "Environment Variables")."""

_ASKS_ENVIRONMENT: Final = pattern(r"environ|getenv")

_OR_NONE: Final = pattern(r"""int\(os\.(?:environ\.get|getenv)\('LOCAL_RANK', '?-1'?\)\)""")
"""A local rank that is -1 where no launcher set the variable."""

_ASKS_FOR_GROUP: Final = pattern(r"is_(?:torchelastic_)?initialized|is_available\(|environ|getenv")
"""What a function that answers on one process, too, has looked at."""

_WITH_MODULE: Final = frozenset({"ddp", "dp"})
"""Wrappers whose `module` is the model (torch 2.13.0 nn/parallel/distributed.py, data_parallel.py)."""

_Seen = dict[str, list[tuple[RankClass, Value]]]


def scope_at(model: Model, function: Function, line: int, *, with_group: bool) -> Scope:
    """What code may name in front of a statement: the file's own variables first, then the group.

    Args:
        model: the analysed project.
        function: what holds the line.
        line: the first line of the statement.
        with_group: whether `torch.distributed` may be asked anew, where the group is made.
    """
    found: dict[str, str] = {}
    test = _test_in_use(model, function, line)
    if test:
        found["main"] = test
    for name, values in _values(model, function, line).items():
        for fact in _facts_of(values, function.module):
            if fact != "main" or not _is_of_words(name):
                found.setdefault(fact, name)
    _add(found, _read_from_environment(function, line))
    _add(found, _ranks_of_class(model, function))
    _add(found, {"accelerator": _accelerator_of_class(model, function)})
    _add(found, {"accelerator": _accelerator_of_module(model, function)})
    accelerator = found.get("accelerator", "")
    own = _of_framework(model, function)
    of_trainer = {
        key: text.format(trainer)
        for base, row in _OF_TRAINER.items()
        if (trainer := found.pop(base, ""))
        for key, text in row.items()
    }
    if model.launch.older_than(*TRAINER_WITH_ACCELERATOR, function.module.path):
        own.pop("barrier", None)
        of_trainer.pop("barrier", None)
    _add(found, own)
    if accelerator:
        _add(found, {key: text.format(accelerator) for key, text in _ACCELERATOR.items()})
    _add(found, of_trainer)
    if "rank" in found:
        test = f"{found['rank']} == 0"
        found.setdefault("main", _named(function, test, line) or test)
    if "main" not in found:
        _add(found, {"main": _predicate_of_file(model, function, line)})
    name = _group_name(function, line) if with_group else ""
    if name and _is_made(model, function, line):
        found["distributed"] = name
        _add(found, {key: text.format(name) for key, text in _GROUP.items()})
    elif name and (tests := tests_of_group(model, function, line)):
        under = tests[0]
        without = negated(under)
        _add(found, {"main": f"{_in_or(without)} or {_GROUP['main'].format(name)}"})
        if "barrier" not in found:
            _add(found, {"barrier": _GROUP["barrier"].format(name), "barrier_if": under})
    if "local_rank" not in found:
        _add(found, {"local_rank": _local_rank_by_name(model, function, line)})
    if with_group:
        _add(found, {"local_rank": _local_rank_behind_group(model, function, line)})
    read = ""
    if with_group and "local_rank" not in found:
        read = _set_by_launcher(model, function, line) or _read_elsewhere(model, function, line)
    _add(found, {"local_rank": read})
    ddp = _read_in_ddp(model, function, line)
    return Scope(
        **found,
        of_launcher=bool(read),
        only_ddp=frozenset(ddp),
        known_ddp=frozenset(text for text, site in ddp.items() if _is_known(site, text)),
    )


def _add(found: dict[str, str], more: dict[str, str]) -> None:
    for key, text in more.items():
        if text:
            found.setdefault(key, text)


# Tests of rank 0


def _test_in_use(model: Model, function: Function, line: int) -> str:
    """A test of rank 0 that stands above in the function; one by an attribute also in a function around it."""
    around = _around(function)
    for call in model.calls(module=function.module):
        site = call.site
        inside = site.function is function
        if not inside and site.function not in around:
            continue
        guard = _only_test(site) if call.classes == {MAIN} else None
        if guard is None or guard.lineno >= line or _is_of_words(ast.unparse(guard)):
            continue
        if (
            (inside or _is_attribute(guard))
            and not _names(guard) & _rebound(function, None if not inside else guard.lineno, line)
            and (not inside or _is_answered(function, guard, line))
            and (not _asks_group(model, function, guard) or _is_made(model, function, line))
        ):
            return source_of(function.module, guard)
    return ""


def _is_answered(function: Function, guard: ast.expr, line: int) -> bool:
    """Whether the names of a test that stands above have their values at a line, too.

    A test in a branch of its own may ask what only that branch has set: `if distributed: rank = get_rank()`.
    """
    above = list(_statements_before(function.body, line))
    if any(guard in walk(each.test) for each in above if isinstance(each, ast.If)):
        return True
    local = _names(guard) & {*_bindings(function), *_imported_in(function, None)}
    return all(
        any(_binds(statement, name) for statement in above if statement.lineno < line)
        for name in local - set(function.parameters)
    )


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether a name has a value behind a statement, whichever way control took in it."""
    match statement:
        case ast.If(body=body, orelse=orelse):
            return all(any(_binds(each, name) for each in arm) for arm in (body, orelse))
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return any((n.asname or n.name.partition(".")[0]) == name for n in names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.With():
            head = statement.items if isinstance(statement, ast.With) else [statement]
            return any(
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
                for part in head
                for node in walk(part)
            )
    return False


def _asks_group(model: Model, function: Function, guard: ast.expr) -> bool:
    """Whether a test raises where there is no group: `dist.get_rank() == 0`, or a function that asks so."""
    for node in walk(guard, ast.Call):
        meaning = model.resolve(function.module, node.func)
        if isinstance(meaning, Function):
            if not _answers_without_group(model, meaning) and _mentions_group(model, meaning):
                return True
        elif "torch.distributed" in str(meaning):
            return True
    return False


def _mentions_group(model: Model, asked: Function) -> bool:
    return any(
        str(model.resolve(asked.module, node.func)) in GROUP_QUESTIONS
        for node in own_nodes(asked, ast.Call)
    )


def _is_of_words(test: str) -> bool:
    """Whether a test is named for what is printed: a write under it would be found by nobody who changes the words.

    Music-Source-Separation-Training ccc011a utils/dataset.py:883: `should_print`.
    """
    return test.isidentifier() and _FOR_WORDS.search(test) is not None


def _only_test(site: CallSite) -> ast.expr | None:
    """The test of the rank that leaves rank 0, where it is one and asks for nothing else."""
    ranked = [guard for guard in site.guards if "rank" in guard.value.tags]
    if len(ranked) != 1 or not ranked[0].taken or ranked[0].exits:
        return None
    guard = ranked[0]
    node = guard.node
    plain = not any(walk(node, ast.BoolOp, ast.NamedExpr, ast.IfExp))
    here = guard.module is site.module
    return node if here and plain and "\n" not in ast.unparse(node) else None


def _around(function: Function) -> list[Function]:
    found = []
    parent = function.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return found


def _is_attribute(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
    )


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in walk(node, ast.Name)}


def _rebound(function: Function, first: int | None, last: int) -> set[str]:
    """The names that get another meaning between two lines; all that the function binds without a first."""
    named = {
        part.id
        for part in walk(function.node, ast.Name)
        if isinstance(part.ctx, ast.Store) and (first is None or first < part.lineno < last)
    }
    return named | (set(function.parameters) if first is None else set())


def _predicate_of_file(model: Model, function: Function, line: int) -> str:
    """A call of a function that a file guards with elsewhere, and that is true on rank 0 alone.

    diffusion-pipe 0d2ba8a utils/dataset.py:527: `if is_main_process():`.
    """
    rebound = {name for each in function.outward() for name in _bindings(each)}
    for call in model.calls(module=function.module):
        guard = _only_question(model, call.site) if call.classes == {MAIN} else None
        if guard is None or not rebound.isdisjoint(_names(guard)):
            continue
        asked = model.resolve(function.module, guard.func)
        if isinstance(asked, Function) and (
            _answers_without_group(model, asked) or _is_made(model, function, line)
        ):
            return ast.unparse(guard)
    own = rebound.union(*(each.parameters for each in function.outward()))
    tests = _imported_tests(model, function.module)
    return next((text for text in tests if re.split(r"[.(]", text)[0] not in own), "")


def _imported_tests(model: Model, module: Module) -> Iterator[str]:
    """The calls of a well-known test of rank 0 that a file imports, by itself or with its module.

    Cream 4a13c40 AutoFormer/evolution.py:467: `from lib import utils`, whose `is_main_process()` other files ask.
    """
    above = [
        each for each in module.source.tree.body if isinstance(each, ast.Import | ast.ImportFrom)
    ]
    for name in (alias.asname or alias.name for each in above for alias in each.names):
        if not name.isidentifier():
            continue
        meaning = model.resolve(module, ast.Name(name, ast.Load()))
        match meaning:
            case Function():
                tests = {name: meaning}
            case Module():
                tests = {f"{name}.{each}": found for each, found in meaning.functions.items()}
            case _:
                continue
        for text, asked in tests.items():
            if NAMED_RANKS.get(asked.name) == "is_main" and _tells_rank_0(model, asked):
                yield f"{text}()"


def _tells_rank_0(model: Model, asked: Function) -> bool:
    """Whether a function needs no arguments, compares the rank with 0, and answers without a group."""
    compares = any(
        ast.unparse(node).endswith("== 0") and mentions_rank(node)
        for node in own_nodes(asked, ast.Compare)
    )
    return compares and not asked.parameters and _answers_without_group(model, asked)


def _only_question(model: Model, site: CallSite) -> ast.Call | None:
    """The call without arguments by which a test leaves rank 0, beside what else the test asks.

    AudioMAE bd60e29 main_finetune_as.py:503: `if args.output_dir and misc.is_main_process():`.
    """
    ranked = [guard for guard in site.guards if "rank" in guard.value.tags]
    if len(ranked) != 1 or not ranked[0].taken or ranked[0].exits:
        return None
    guard = ranked[0]
    if guard.module is not site.module:
        return None
    match guard.node:
        case ast.BoolOp(op=ast.And(), values=parts):
            pass
        case node:
            parts = [node]
    asked = [
        part
        for part in parts
        if isinstance(part, ast.Call)
        and isinstance(model.resolve(site.module, part.func), Function)
        and dotted_name(part.func)
    ]
    match asked:
        case [ast.Call(args=[], keywords=[]) as only]:
            return None if any(mentions_rank(part) for part in parts if part is not only) else only
    return None


def _answers_without_group(model: Model, asked: Function) -> bool:
    """Whether a function that tells ranks apart asks first whether there is a group, or asks the environment."""
    inside = [asked]
    for each in inside:
        for node in own_nodes(each, ast.Call):
            meaning = model.resolve(each.module, node.func)
            if isinstance(meaning, Function) and meaning not in inside:
                inside.append(meaning)
    text = " ".join(ast.unparse(each.node) for each in inside)
    return _ASKS_FOR_GROUP.search(text) is not None


# Variables


def _values(model: Model, function: Function, line: int) -> _Seen:
    """What is known of the names and attributes that hold one meaning from above the line on."""
    seen: _Seen = {}
    for around in (function, *_around(function)):
        inside = around is function
        rebound = set() if inside else _rebound(function, None, 0)
        bound: dict[str, bool] = {}
        for text, rank, value in _mentioned(model, around, line if inside else None):
            root = text.partition(".")[0]
            if root not in bound:
                bound[root] = root not in rebound and _is_bound(around, root, line)
            if bound[root]:
                seen.setdefault(text, []).append((rank, value))
    return seen


def _mentioned(
    model: Model, function: Function, line: int | None
) -> Iterator[tuple[str, RankClass, Value]]:
    """Names, and attributes read above a line, with their values on each class of ranks."""
    assigned = {
        id(values[0]): name for name, values in assignments(function).items() if len(values) == 1
    }
    for call in model.calls(module=function.module):
        if call.site.function is not function:
            continue
        for rank, site in call.sites:
            if (name := assigned.get(id(site.node))) is not None and site.result is not None:
                yield name, rank, site.result
            for node, value in _given(site):
                text = dotted_name(node)
                above = line is None or node.lineno < line
                if text and ("." not in text or above):
                    yield text, rank, value
            for guard in site.guards:
                text = dotted_name(guard.node)
                if (
                    text
                    and guard.module is function.module
                    and ("." not in text or line is None or guard.node.lineno < line)
                ):
                    yield text, rank, guard.value


def _given(site: CallSite) -> Iterator[tuple[ast.expr, Value]]:
    if site.receiver is not None and isinstance(site.node.func, ast.Attribute):
        yield site.node.func.value, site.receiver
    nodes = [node for node in site.node.args if not isinstance(node, ast.Starred)]
    if len(nodes) == len(site.node.args) == len(site.args):
        yield from zip(nodes, site.args, strict=True)
    for keyword in site.node.keywords:
        if keyword.arg is not None and keyword.arg in site.keywords:
            yield keyword.value, site.keywords[keyword.arg]


def _named(function: Function, test: str, line: int) -> str:
    """The variable that a function keeps a test in: `is_main = rank == 0`."""
    return next(
        (
            name
            for name, values in assignments(function).items()
            if [ast.unparse(value) for value in values] == [test]
            and name.isidentifier()
            and not _is_of_words(name)
            and _is_bound(function, name, line)
        ),
        "",
    )


def _read_from_environment(function: Function, line: int) -> dict[str, str]:
    """The ranks that the launcher's variables give: a name that holds one, else the read as the file writes it."""
    found: dict[str, str] = {}
    for name, variable in _names_from_environment(function):
        if _is_bound(function, name, line):
            found.setdefault(variable, name)
    if visible_imports(function, line).get("os") == "os":
        found.setdefault("local_rank", _local_rank_read(function.module))
    return found


@remembered
def _names_from_environment(function: Function) -> tuple[tuple[str, str], ...]:
    """The names of a function that are given a rank of the launcher's, and which."""
    read = ((name, _variable_of(values)) for name, values in assignments(function).items())
    return tuple(
        (name, variable)
        for name, variable in read
        if variable in ("rank", "local_rank") and "." not in name
    )


def _variable_of(values: list[ast.expr]) -> str:
    """The launcher's variable that a name holds; 0 is what one process has in its stead."""
    read = {
        _variable_read(value).lower()
        for value in values
        if not (isinstance(value, ast.Constant) and value.value == 0)
    }
    return read.pop() if len(read) == 1 else ""


@remembered
def _local_rank_read(module: Module) -> str:
    """The first read of the local rank that has a default: without one it raises where there is no launcher."""
    for node in walk(module.source.tree, ast.Call):
        if _variable_read(node) == "LOCAL_RANK" and "0" in ast.unparse(node):
            return source_of(module, node)
    return ""


def _local_rank_behind_group(model: Model, function: Function, line: int) -> str:
    """A variable for the local rank that is -1 without a launcher: behind the group, which that launcher's variables made, it is none.

    D-FINE 4a1f73a src/misc/dist_utils.py:43: `LOCAL_RANK = int(os.getenv("LOCAL_RANK", -1))`.
    """
    for name, values in assignments(function).items():
        if len(values) == 1 and _is_none_or_local(values[0]) and _is_bound(function, name, line):
            return name if _is_made(model, function, line) else ""
    return ""


def _is_none_or_local(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _OR_NONE.fullmatch(ast.unparse(value)) is not None


def _set_by_launcher(model: Model, function: Function, line: int) -> str:
    """A read of the local rank, where all launches that lead to a file set the variable, and nothing spawns ranks.

    Without a launcher it reads 0, behind a group that there is no other way to make it raises. Sa2VA 9832e1a projects/sa2va/evaluation/utils/dist.py: under Slurm the program sets it.
    """
    if visible_imports(function, line).get("os") != "os":
        return ""
    module = function.module
    if any("spawn(" in each.source.text for each in linked(model.program, module)):
        return ""
    launches = model.launches_to(module)
    known = bool(launches) and all("LOCAL_RANK" in SET_BY[each.launcher] for each in launches)
    if known and (_needs_launcher(function) or _is_made(model, function, line)):
        return 'int(os.environ["LOCAL_RANK"])'
    return 'int(os.environ.get("LOCAL_RANK", 0))' if known else ""


def _needs_launcher(function: Function) -> bool:
    """Whether a function takes a launcher's variable without a default, and raises where there is none.

    ThinkSound 4e2cfd5 data_utils/extract_training_audio.py:33: `rank = int(os.environ["RANK"])`.
    """
    return any(
        _plain_read(value) in ("RANK", "WORLD_SIZE", "LOCAL_RANK")
        for values in assignments(function).values()
        for value in values
    )


def _read_elsewhere(model: Model, function: Function, line: int) -> str:
    """A read of the local rank as the program makes it elsewhere, without a default, where the group is there.

    OpenDiloco a5b7236 open_diloco/train_diloco_torch.py: `main()` reads it behind `ddp_setup()`.
    """
    if visible_imports(function, line).get("os") != "os":
        return ""
    around = linked(model.program, function.module)
    if any("spawn(" in each.source.text for each in around):
        return ""
    read = min(filter(None, map(_plain_local_rank_read, around)), default="")
    return read if read and _is_made(model, function, line) else ""


@remembered
def _plain_local_rank_read(module: Module) -> str:
    """The first read of the local rank that raises where the launcher sets none.

    Not one that is made only where a test finds the launcher's variables, and the group another way, too: HIPT 780fafa
    1-Hierarchical-Pretraining/utils.py:470, whose other arms are for Slurm and for one plain process.
    """
    tree = module.source.tree
    tested = {
        inner
        for node in walk(tree, ast.If)
        if _ASKS_ENVIRONMENT.search(ast.unparse(node.test))
        and not any(last_name(call.func) == "init_process_group" for call in _calls_in(node.body))
        for inner in _calls_in(node.body)
    }
    for node in walk(tree, ast.Call):
        if _plain_read(node) == "LOCAL_RANK" and node not in tested:
            return source_of(module, node)
    return ""


def _calls_in(body: list[ast.stmt]) -> Iterator[ast.Call]:
    return (node for statement in body for node in walk(statement, ast.Call))


def _local_rank_by_name(model: Model, function: Function, line: int) -> str:
    """The local rank by its name alone: a parameter, an attribute that other methods read, or a parsed option.

    UniFormerV2 722a434 slowfast/utils/multiprocessing.py:59, what `mp.spawn` runs; FixRes c9be6ac
    imnet_finetune/train.py:100, `self._train_cfg.local_rank`; pika 23c4cdd trainer/train_las_bmuf_otfaug.py:487,
    `args.local_rank`, which the launcher hands over. Not where it is -1 without a launcher, nor an option that nothing
    reads: torch's own launchers set the variable alone, and it is left over (HIPT 780fafa
    1-Hierarchical-Pretraining/eval_image_retrieval.py:97, "Please ignore and do not set this argument").
    """
    bound, text = _bindings(function), function.module.source.text
    if _NO_LOCAL_RANK.search(text):
        return ""
    if "local_rank" in function.parameters and "local_rank" not in bound:
        default = default_of(function, "local_rank")
        return "local_rank" if default is None or ast.unparse(default) != "-1" else ""
    if read := _local_rank_of_methods(function):
        return read
    parsed = [
        target
        for statement in _statements_before(function.body, line)
        if (target := _parsed_into(statement)) is not None and statement.lineno < line
    ]
    for target in parsed if _LOCAL_RANK_OPTION.search(text) else ():
        stores = {id(n) for n in bound[target.id] if n.lineno < line}
        read = f"{target.id}.local_rank"
        if (
            stores <= {*map(id, parsed)}
            and read not in assignments(function)
            and _reads_option(model.program, function.module)
        ):
            return read
    return ""


@remembered
def _reads_option(program: Program, module: Module) -> bool:
    """Whether anything in the programs that a file is part of reads a `local_rank` that it is handed."""
    return any(
        node.attr == "local_rank" and isinstance(node.ctx, ast.Load)
        for each in linked(program, module)
        if "local_rank" in each.source.text
        for node in walk(each.source.tree, ast.Attribute)
    )


def _local_rank_of_methods(function: Function) -> str:
    """An attribute of `self`, or of what it keeps, by which other methods of the class ask for the local rank."""
    if function.cls is None or "self" not in function.parameters[:1]:
        return ""
    methods = function.cls.methods.values()
    reads = {
        read
        for method in methods
        if method is not function
        for node in own_nodes(method, ast.Attribute)
        if node.attr == "local_rank"
        if isinstance(node.ctx, ast.Load) and (read := dotted_name(node)).startswith("self.")
    }
    return min((r for r in reads if not any(_gives_global(m, r) for m in methods)), default="")


def _gives_global(method: Function, read: str) -> bool:
    """Whether a method gives an attribute a rank among all machines, whatever it is called.

    Cutie ec5cdd4 cutie/model/trainer.py:28: `local_rank = torch.distributed.get_rank()`, `self.local_rank = local_rank`.
    """
    known = assignments(method)
    values = known.get(read, ())
    named = [v for value in values for v in known.get(dotted_name(value), ()) if v is not value]
    return any(_AMONG_ALL.search(ast.unparse(value)) for value in (*values, *named))


def _parsed_into(statement: ast.stmt) -> ast.Name | None:
    """What an assignment gives the parsed command line to."""
    match statement:
        case ast.Assign(
            targets=[ast.Name() as name], value=ast.Call(func=ast.Attribute(attr="parse_args"))
        ):
            return name
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name() as name, _])],
            value=ast.Call(func=ast.Attribute(attr="parse_known_args")),
        ):
            return name
    return None


def _variable_read(node: ast.expr) -> str:
    """The launcher's variable that an expression reads as a number, and no other; else empty."""
    match = _FROM_ENVIRONMENT.fullmatch(ast.unparse(node)) if isinstance(node, ast.Call) else None
    return (match[1] or match[2]) if match else ""


def _plain_read(node: ast.expr) -> str:
    """The launcher's variable that an expression reads as a number without a default; else empty."""
    plain = isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Subscript)
    return _variable_read(node) if plain else ""


def _is_bound(function: Function, name: str, line: int) -> bool:
    """Whether a name has its one value wherever the code at a line runs."""
    names = _bindings(function).get(name, [])
    if any(isinstance(each.ctx, ast.Del) and each.lineno < line for each in names):
        return False  # kohya-ss/sd-scripts train_db.py: `del accelerator` in front of what is left to save
    bindings = [each for each in names if isinstance(each.ctx, ast.Store)]
    if name in function.parameters:
        return not bindings
    for statement in _statements_before(function.body, line):
        if (statement.end_lineno or 0) >= line:
            continue
        match statement:
            case ast.Assign() | ast.AnnAssign():
                if len(bindings) == 1 and bindings[0] in walk(statement):
                    return True
            case ast.If(body=body, orelse=other):
                # finetrainers prepare_dataset.py:382: `local_rank`, from the launcher or 0.
                if len(bindings) == 2 and all(_assigns(arm, bindings) for arm in (body, other)):
                    return True
    return False


def _assigns(block: list[ast.stmt], bindings: list[ast.Name]) -> bool:
    """Whether a statement of a block itself is one of the assignments."""
    return any(
        isinstance(statement, ast.Assign) and any(each in statement.targets for each in bindings)
        for statement in block
    )


@remembered
def _bindings(function: Function) -> dict[str, list[ast.Name]]:
    """Where a function binds each of its names, or lets go of it."""
    found: dict[str, list[ast.Name]] = {}
    for node in own_nodes(function, ast.Name):
        if isinstance(node.ctx, ast.Store | ast.Del):
            found.setdefault(node.id, []).append(node)
    return found


def _statements_before(block: Iterable[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements that have run when a line is reached: those above in the blocks around it."""
    for statement in block:
        yield statement
        if statement.lineno <= line <= (statement.end_lineno or 0):
            for part in (statement, *getattr(statement, "handlers", ())):
                for inner in blocks(part):
                    if inner and inner[0].lineno <= line <= (inner[-1].end_lineno or 0):
                        yield from _statements_before(inner, line)


def _facts_of(values: list[tuple[RankClass, Value]], module: Module) -> Iterator[str]:
    """The fields of `Scope` that a name can stand for."""
    if all(value.type == "accelerate.Accelerator" for _, value in values):
        yield "accelerator"
    bases = [facts.with_bases([value.type] if value.type else []) for _, value in values]
    nearest = {next((base for base in each if base in _OF_TRAINER), "") for each in bases}
    if len(nearest) == 1:
        yield from nearest - {""}
    if len({rank for rank, _ in values}) < 2:
        return
    # Called with a 0 in it, a function runs on one process: `run_training(0, 1, …)` in lightweight-gan efbec45
    # lightweight_gan/cli.py, where `mp.spawn` passes each process its own.
    ranked = [(rank, value) for rank, value in values if not _is_of_one_process(value)]
    if len({rank for rank, _ in ranked}) > 1:
        values = ranked
    if all(
        "world_size" in value.tags and value.const == MAIN.fact("world_size") for _, value in values
    ):
        yield "world_size"
    for kind, field in (("is_main", "main"), ("rank", "rank"), ("local_rank", "local_rank")):
        if all(_answers(rank, value, kind) for rank, value in values) and not (
            kind == "local_rank" and _NO_LOCAL_RANK.search(module.source.text)
        ):
            yield field
            return


def _is_of_one_process(value: Value) -> bool:
    """Whether a value is that of rank 0 on every rank, or of what compares it with 0."""
    return value.variance is Variance.UNIFORM and (value.const is True or value.const == 0)


def _answers(rank: RankClass, value: Value, kind: str) -> bool:
    tags = value.tags
    fits = f"kind:{kind}" in tags or (kind == "is_main" and isinstance(value.const, bool))
    return (
        "rank" in tags
        and fits
        and type(value.const) is type(rank.fact(kind))
        and (value.const == rank.fact(kind))
    )


def _is_ddp(model: Model, site: AttributeSite) -> bool:
    """Whether a read is one of a model in DDP alone, however many processes there are."""
    (wrap, *others) = site.receiver.wraps or (None,)
    return (
        wrap is not None
        and not others
        and wrap.kind in _WITH_MODULE
        and wrap.always
        and not under_condition(call_of_wrap(model, site), site, of_launch=True)
    )


def _read_in_ddp(model: Model, function: Function, line: int) -> dict[str, AttributeSite]:
    """What every run of a function reads an attribute of at a line while it is in DDP, with such a read."""
    summaries = model.summaries_of(function)
    runs = [run for _, run in summaries.summaries()] if summaries is not None else []
    each = [
        {
            ast.unparse(site.node.value): site
            for site in run.attributes
            if site.node.lineno == line and _is_ddp(model, site)
        }
        for run in runs
    ]
    first = each[0] if each else {}
    return {name: site for name, site in first.items() if all(name in read for read in each)}


def _is_known(site: AttributeSite, text: str) -> bool:
    """Whether the code at a read shows that the model is in DDP."""
    wrap = site.receiver.wraps[-1]
    return any(node is wrap.node for node in walk(site.function.node)) or any(
        node.attr == "module" and ast.unparse(node.value) == text
        for node in walk(site.module.source.tree, ast.Attribute)
    )


# Frameworks and the group


def _ranks_of_class(model: Model, function: Function) -> dict[str, str]:
    """The ranks that properties of the class around a place, or attributes of its constructor, read from the launcher.

    contrastors 2f7bf1d src/contrastors/trainers/base.py:115: `process_index` is the local rank.
    """
    method = next((each for each in function.outward() if each.cls is not None), None)
    if method is None or method.cls is None or "self" not in method.parameters[:1]:
        return {}
    found: dict[str, str] = {}
    own, _ = model.program.mro(method.cls)
    for name, each in {n: m for cls in reversed(own) for n, m in cls.methods.items()}.items():
        if each.has_decorator("property") and each is not method:
            given = [n.value for n in own_nodes(each, ast.Return) if n.value]
            variable = _variable_of([arm for value in given for arm in _arms(value)])
        elif name == "__init__" and each is not method:
            for text, values in assignments(each).items():
                writers = [f for c in own for f in c.self_assigned.get(text.partition(".")[2], ())]
                if text.startswith("self.") and writers == [each]:
                    rank = _variable_of([arm for value in values for arm in _arms(value)])
                    if rank in ("rank", "local_rank"):
                        found.setdefault(rank, text)
            continue
        else:
            continue
        if variable in ("rank", "local_rank"):
            found.setdefault(variable, f"self.{name}")
    return found


def _arms(value: ast.expr) -> list[ast.expr]:
    """What an expression may come out as; the -1 of no launcher counts as 0 where another arm is for that."""
    if not isinstance(value, ast.IfExp):
        return [value]
    arms = [*_arms(value.body), *_arms(value.orelse)]
    if any(isinstance(arm, ast.Constant) and arm.value == 0 for arm in arms):
        arms = [
            ast.parse(ast.unparse(arm).replace(", -1)", ", 0)"), mode="eval").body for arm in arms
        ]
    return arms


def _accelerator_of_class(model: Model, function: Function) -> str:
    """The attribute in which the constructor of the class around a place keeps its accelerator, for other methods.

    magvit2-pytorch a00519f magvit2_pytorch/trainer.py:339: `train_step()` has not named it yet.
    """
    method = next((each for each in function.outward() if each.cls is not None), None)
    if method is None or method.cls is None or "self" not in method.parameters[:1]:
        return ""
    own, _ = model.program.mro(method.cls)
    inits = _constructors(own)
    methods = {name: m for cls in reversed(own) for name, m in cls.methods.items()}
    active = {*methods.values(), *inits}  # not those that a class overrides
    called = [methods[name] for init in inits for name in _called_first(init) if name in methods]
    for maker in (*inits, *called) if method not in inits else ():
        for statement in maker.body if maker is not method else ():
            text = _kept_accelerator(model, maker, statement)
            kept = text.partition(".")[2]
            writers = [f for c in own for f in c.self_assigned.get(kept, ()) if f in active]
            values = assignments(maker).get(text, [])
            if (
                text
                and writers == [maker]
                and all(_is_accelerator(model, maker, v) for v in values)
            ):
                return text
    return ""


def _accelerator_of_module(model: Model, function: Function) -> str:
    """The accelerator that a file makes above its functions: StyleTTS2 5cedc71 train_finetune_accelerate.py:35."""
    body = function.module.body
    outermost = list(function.outward())[-1]
    if outermost is body or function is body:
        return ""
    for statement in function.module.source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                _is_accelerator(model, body, value)
                and statement.lineno < outermost.body[0].lineno
                and len(assignments(body).get(name, ())) == 1
                and not any(name in _rebound(each, None, 0) for each in function.outward())
            ):
                return name
    return ""


def _kept_accelerator(model: Model, function: Function, statement: ast.stmt) -> str:
    """The attribute of `self` that a statement makes an accelerator; empty for others."""
    match statement:
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)],
            value=value,
        ) if _is_accelerator(model, function, value):
            return f"self.{attr}"
    return ""


def _is_accelerator(model: Model, function: Function, value: ast.expr) -> bool:
    """Whether an expression of a function makes an accelerator."""
    return (
        isinstance(value, ast.Call)
        and model.resolve(function.module, value.func) == "accelerate.Accelerator"
    )


def _constructors(own: Sequence[Class]) -> list[Function]:
    """The constructors that making an object of the first class runs: its own, and those of bases that it calls.

    Amphion d3de90f models/tta/autoencoder/autoencoder_trainer.py:23: `BaseTrainer.__init__(self, args, cfg)`.
    """
    found: list[Function] = []
    for cls in own:
        init = cls.methods.get("__init__")
        if init is None:
            continue
        found.append(init)
        if "__init__" not in _called_first(init, of_base=True):
            break
    return found


def _called_first(init: Function, *, of_base: bool = False) -> list[str]:
    """The methods of its own, or else of a base, that a constructor calls under no condition.

    Amphion's `_init_accelerator()`.
    """
    return [
        call.func.attr
        for statement in init.body
        if isinstance(statement, ast.Expr)
        and isinstance(call := statement.value, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and (ast.unparse(call.func.value) == "self") is not of_base
    ]


def _of_framework(model: Model, function: Function) -> dict[str, str]:
    method = next((f for f in (function, *_around(function)) if f.cls is not None), None)
    if method is None or method.cls is None or "self" not in method.parameters[:1]:
        return {}
    _, outside = model.program.mro(method.cls)
    for base in facts.with_bases(tuple(outside)):
        row = _FRAMEWORKS.get(base)
        if row is not None and (not row.main.startswith("state.") or "state" in method.parameters):
            return {key: getattr(row, key) for key in _ASKED_OF_SELF}
    return {}


def _group_name(function: Function, line: int) -> str:
    """The name of `torch.distributed` at a line; empty where the file does not import it by itself."""
    visible = visible_imports(function, line)
    for name, target in sorted(visible.items()):
        if target == "torch.distributed":
            return name
    if visible.get("torch") == "torch" and _names_distributed(function.module):
        return "torch.distributed"
    return ""


@remembered
def _names_distributed(module: Module) -> bool:
    return any(
        dotted_name(node) == "torch.distributed" for node in walk(module.source.tree, ast.Attribute)
    )


def visible_imports(function: Function, line: int) -> dict[str, str]:
    """What the imports mean that the code at a line of a function can name: those of its file, and its own above.

    lightweight-gan efbec45 lightweight_gan/lightweight_gan.py:1126: `import torch.distributed as dist` in one method
    alone; elsewhere a distance is called `dist`.
    """
    imports = function.module.imports
    visible = _imported_in(function.module.body, None)
    for around in [each for each in function.outward() if not each.is_module_body][::-1]:
        own = _imported_in(around, line)
        hidden = {*_bindings(around), *around.parameters, *_imported_in(around, None)} - own
        visible = (visible - hidden) | own
    return {name: target for name, target in imports.items() if name in visible}


def _imported_in(function: Function, line: int | None) -> frozenset[str]:
    """The names that a function imports, wherever; with a line, those that are bound whenever it is reached."""
    nodes: Iterable[ast.AST] = own_nodes(function)
    if line is not None:
        nodes = (n for n in _statements_before(function.body, line) if n.lineno < line)
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _in_or(test: str) -> str:
    """A test as an arm of `or`."""
    loose = isinstance(ast.parse(test, mode="eval").body, ast.IfExp | ast.Lambda | ast.NamedExpr)
    return f"({test})" if loose else test


def _is_made(model: Model, function: Function, line: int) -> bool:
    return group_at(model, function, line) is Group.MADE
