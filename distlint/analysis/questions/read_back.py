"""Where a run of the ranks reads a file that a call writes, here or where the path comes from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final, TypeGuard

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import groups_of
from distlint.analysis.live.modes import never_both
from distlint.analysis.live.summaries import CallGroup
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import mentions_rank, own_nodes, statement_with_test
from distlint.analysis.questions.filesystem import (
    FileCall,
    check_before,
    file_calls,
    on_the_other_arm,
)
from distlint.analysis.questions.ordering import Step, Traces, arguments_of
from distlint.analysis.questions.paths import Parts, bound, holds, parts_of
from distlint.knowledge import sinks
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite, Guard
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

Place = tuple["Module", ast.AST]

_CODE: Final = ".py"
_NAME: Final = pattern(r"\w*[A-Za-z]{4}\w*\.\w+$")
_ASKS_FOR_RANKS: Final = pattern(
    r"(?i)dist|ddp|fsdp|deepspeed|accelerat|parallel|world|several|multi|gpu|n_?proc|process"
)
"""Words of conditions that hold wherever several ranks run."""


def read_back(live: LiveProgram, found: FileCall) -> Place | None:
    """The place where something in a run of the ranks reads the file that a call writes; None where nothing is seen."""
    if found.path is None:
        return None
    named = _named(live, found.path, found)
    known_as = (place for each in named for place in _read_as(live, found, *each))
    return next(known_as, None) or next(_read_by_callers(live, found), None)


def read_behind_a_wait(live: LiveProgram, found: FileCall) -> bool:
    """Whether a run of the ranks reads the file that a call writes, where all ranks have waited for each other since."""
    if found.path is None:
        return False
    known_as = {parts_of(path, function) for path, function, _ in _named(live, found.path, found)}
    for other in live.answer(file_calls):
        if (
            other.effect is Effect.READ
            and other.path is not None
            and parts_of(other.path, other.function) in known_as
            and _in_one_run(live.program, found, other)
            and any(comes_back(*way) and _all_meet(live, *way) for way in _ways(live, found, other))
        ):
            return True
    return False


def only_resumes(live: LiveProgram, found: FileCall) -> bool:
    """Whether a run that writes a file reads it in front of the write alone, where it goes on from an earlier run.

    No rank of a run then reads what another is writing: Parametric-Contrastive-Learning fe56535
    GPaCo/LT/paco_cifar.py:489.
    """
    if found.path is None or read_back(live, found) is not None:
        return False
    for path, function, _ in _named(live, found.path, found):
        parts = parts_of(path, function)
        kept = (node.value for node in own_nodes(function) if _keeps(node))
        if any(isinstance(each, ast.Name) and parts_of(each, function) == parts for each in kept):
            return True
        for other in live.answer(file_calls):
            if (
                other.effect is Effect.READ
                and other.path is not None
                and parts_of(other.path, other.function) == parts
                and _in_one_run(live.program, found, other)
                and not _behind(live, found, other, waited=True)
            ):
                return True
    return False


def _keeps(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Whether a statement puts something into an attribute: `args.resume = path`."""
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute) for t in node.targets)


def _named(
    live: LiveProgram, path: ast.expr, found: FileCall
) -> list[tuple[ast.expr, Function, ast.AST]]:
    """The path that a call writes to as its function and those that hand it over have it, with the call in each."""
    named: list[tuple[ast.expr, Function, ast.AST]] = [(path, found.function, found.site.node)]
    if isinstance(path, ast.Name) and path.id in found.function.parameters:
        named += [
            (given, user, call)
            for user, call in _callers(live, found.function)
            if (given := argument_of(call, found.function, path.id)) is not None
        ]
    return named


def _callers(live: LiveProgram, function: Function) -> Sequence[tuple[Function, ast.Call]]:
    """The calls of a function: those of its name, unless it is a method, which has namesakes.

    What is called as `save_pretrained()` in a copy of transformers: CodeRL ec3c526.
    """
    known = live.callers.get(function, ()) if function.cls is not None else ()
    return [(site.function, site.node) for site in known] or [
        (user, call)
        for user, call in callers_by_name(live.program, function)
        # A script beside it has a function of the same name, a copy mostly.
        if not isinstance(meant := live.resolve(user.module, call.func), Function)
        or meant is function
    ]


def _read_by_callers(live: LiveProgram, found: FileCall) -> Iterator[Place]:
    """Where those who call the function read what it writes into a folder that they name.

    svoice 1e38190 svoice/data/data.py:119: `preprocess_one_dir(mix_dir, mix_dir, "mix")`, and below it
    `open(os.path.join(mix_dir, "mix.json"))`.
    """
    assert found.path is not None
    parts = parts_of(found.path, found.function)
    for site in live.callers.get(found.function, ()):
        passed = bound(parts, arguments_of(site, found.function))
        if passed != parts:
            for other in live.answer(file_calls):
                if other.function is site.function and _reads(live, other, found, passed):
                    yield other.site.module, other.site.node


def _read_as(
    live: LiveProgram, found: FileCall, path: ast.expr, function: Function, writes: ast.AST
) -> Iterator[Place]:
    """Where a file is read that a function calls `path`, and that is written in the call `writes`."""
    parts = parts_of(path, function)
    reading = _read_by_deepspeed(live.program)
    if reading is not None and not _met_behind(live, found):
        for node in _for_library(path, function):
            yield from _at_start(live, found, reading, (function.module, node))
    if parts and str(parts[-1]).endswith(_CODE):
        yield from ((function.module, node) for node in _imports_again(function, writes))
    for other in live.answer(file_calls):
        if _reads(live, other, found, parts) or _reads_below(live, other, parts, function, writes):
            yield other.site.module, other.site.node
    if found.site.method == "save_pretrained":
        yield from _loads_again(function, parts)
    elif not _is_into_folder(live, found, parts):
        yield from _handed_on(live, path, function, writes)


def _imports_again(function: Function, writes: ast.AST) -> Iterator[ast.AST]:
    """Where a function imports behind a write of code what it may have imported before.

    RoboVLMs 8adc1d2 main.py:145: `importlib.reload(transformers)` below a copy over one of its files.
    """
    for node in own_nodes(function, ast.Call):
        if last_name(node.func) in sinks.IMPORT_AGAIN and comes_back(function, writes, node):
            yield node


def _is_into_folder(live: LiveProgram, found: FileCall, parts: Parts) -> bool:
    """Whether a copy goes into a folder that its function has made: whoever is handed that need not look for the file.

    CVPR2022-DaGAN 052ad35 run.py:124: `copy(opt.config, log_dir)`, and `train(…, log_dir)` writes its checkpoints there. Or in
    which it names files: MM_SLT 4359c0c main_ddp.py:85, below `Logger(os.path.join(WORK_DIR_PATH, "log.txt"))`.
    """
    return found.site.name in sinks.COPIES and (
        any(
            other.effect is Effect.CREATE_DIR
            and other.function is found.function
            and other.path is not None
            and parts_of(other.path, other.function) == parts
            for other in live.answer(file_calls)
        )
        or _names_below(found)
    )


def _names_below(found: FileCall) -> bool:
    """Whether the function of a write names files in what it writes to."""
    folder = parts_of(found.path, found.function) if found.path is not None else ()
    return any(
        len(inside := parts_of(node, found.function)) > len(folder) and holds(folder, inside)
        for node in own_nodes(found.function, ast.Call, ast.BinOp)
    )


def _reads_below(
    live: LiveProgram, other: FileCall, path: Parts, function: Function, writes: ast.AST
) -> bool:
    """Whether a function calls one that reads the file, behind the write: with its folder, or with the path."""
    if other.effect is not Effect.READ or other.path is None:
        return False
    read = parts_of(other.path, other.function)
    return any(
        site.function is function
        and _may_be_open(live, function, writes, site.node)
        and bound(read, arguments_of(site, other.function)) == path
        for site in live.callers.get(other.function, ())
    )


def _for_library(path: ast.expr, function: Function) -> Iterator[ast.AST]:
    """Where a path is kept under a name at which a library looks for it: `args.deepspeed_config`."""
    for node in walk(path):
        if dotted_name(node).rpartition(".")[2] in sinks.READ_BY_LIBRARIES:
            yield node
    for node in own_nodes(function, ast.Attribute):
        if isinstance(node.ctx, ast.Store) and node.attr in sinks.READ_BY_LIBRARIES:
            yield node


def _at_start(
    live: LiveProgram, found: FileCall, reading: tuple[Place, ...], kept: Place
) -> list[Place]:
    """The places at which DeepSpeed reads a file: those in functions that lead to its write as well, where any do; else in
    their files, or where the path is `kept` for it.

    TVTS 290a63e v1/downstream/run_class_linear.py:395, whose `main` calls what writes it, in another file than what makes
    the group.
    """
    ways = _ways_to(live, found, frozenset())
    files = {function.module for function in ways}
    together = [
        (function, place)
        for place in reading
        if place[0] in files
        for function in ways
        if function.module is place[0] and place[1] in own_nodes(function, ast.Call)
    ]
    if together:
        return [
            place
            for function, place in together
            for writes in ways[function]
            if _may_be_open(live, function, writes, place[1])
        ]
    return [place for place in reading if place[0] in files] or [kept]


def _met_behind(live: LiveProgram, found: FileCall) -> bool:
    """Whether the ranks make their group behind a write: DeepSpeed reads its configuration later, when all have come so far.

    Uni3D 64e03c3 main.py:84: `create_deepspeed_config(args)`, then `init_distributed_device(args)`, and the model is made.
    """
    entry = found.joint_entry
    if entry is None:
        return False
    writes = entry.call or found.site
    making = [
        site.node.lineno
        for call in live.calls("torch.distributed.init_process_group")
        for site in (call.site, *live.callers.get(call.site.function, ()))
        if site.function is writes.function
    ]
    return bool(making) and min(making) > writes.node.lineno


@remembered
def _read_by_deepspeed(program: Program) -> tuple[Place, ...] | None:
    """The calls in which DeepSpeed looks for its configuration there; None where it is handed to a variable that nothing calls.

    UniRepLKNet b5677d8 Video/run_class_finetuning.py:755: `ds_init(…)` stands in a comment.
    """
    kept: set[str] = set()
    called: dict[str, list[Place]] = {}
    for module in program.modules.values():
        if "deepspeed" not in module.source.text and not kept:
            continue
        for node in walk(module.source.tree, ast.Assign, ast.Call):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() as given) if (
                    dotted_name(given) == "deepspeed.initialize"
                ):
                    kept.add(name)
                case ast.Call(func=function):
                    called.setdefault(last_name(function), []).append((module, node))
    names = kept | sinks.READ_DEEPSPEED
    found = tuple(place for name, places in called.items() if name in names for place in places)
    return None if kept and not found else found


def _reads(live: LiveProgram, other: FileCall, found: FileCall, path: Parts) -> bool:
    if other.effect is not Effect.READ or other.path is None:
        return False
    if found.by_others and found.ranks.isdisjoint(other.ranks):
        # Rank 0 reads what it has written to its own path (ScaledYOLOv4 6768003 train.py:337).
        return False
    if never_both(found.site, other.site):
        return False
    read = parts_of(other.path, other.function)
    if found.site.method == "save_pretrained" and _lists_others(other, read):
        return False
    if other.function is not found.function and _are_alike(live, found, path, other, read):
        return _in_one_run(live.program, found, other) and bool(
            _ways(live, found, other) and _behind(live, found, other)
        )
    same = read == path or (found.site.method == "save_pretrained" and holds(path, read))
    if not same or other.function is not found.function:
        return same and _in_one_run(live.program, found, other) and _behind(live, found, other)
    if on_the_other_arm(other.site, found.site):
        # Where the arms part by whether the file is there, a rank that comes late reads what is half written
        # (ULIP f194ddb models/pointnext/PointNeXt/openpoints/dataset/s3dis/s3dis.py:92).
        return check_before(found) is not None
    if _is_tried(found.function, other.site.node, found.site.node):
        return True
    return _may_be_open(live, found.function, found.site.node, other.site.node)


def _are_alike(
    live: LiveProgram, found: FileCall, path: Parts, other: FileCall, read: Parts
) -> bool:
    """Whether two functions of a file put a path together in the same way, with a name that is written out at its end, from
    parameters of the same names, for which their callers give the same.

    Vislocas 6af48c8 tools/cancerTest.py:318 writes `"{}/{}/preds/GliomaTransProt.csv".format(result_prefix, model_name)`, and
    the function that `main()` calls next reads it.
    """
    if path == read or len(path) != len(read) or other.site.module is not found.site.module:
        return False
    return _is_named(path[-1]) and all(
        one == another or _are_given_alike(live, found.function, one, other.function, another)
        for one, another in zip(path, read, strict=True)
    )


def _are_given_alike(
    live: LiveProgram, function: Function, one: object, other: Function, another: object
) -> bool:
    match one, another:
        case ("parameter", _, str(name)), ("parameter", _, str(same)) if name == same:
            given, read = (
                {
                    ast.unparse(argument)
                    for user, call in _callers(live, each)
                    if (argument := argument_of(call, each, name)) is not None
                }
                for each in (function, other)
            )
            return not given.isdisjoint(read)
        case tuple(parts), tuple(others) if len(parts) == len(others):
            return all(
                own == its or _are_given_alike(live, function, own, other, its)
                for own, its in zip(parts, others, strict=True)
            )
    return False


def _is_named(part: object) -> bool:
    """Whether the last part of a path has a name that is written out, and not its ending alone."""
    match part:
        case ("text", (*_, (*_, str(text)))) | str(text):
            return _NAME.search(text) is not None
    return False


def _in_one_run(program: Program, found: FileCall, other: FileCall) -> bool:
    """Whether one run may come to both calls: not where the read is in a script that nothing of the write's program imports.

    Parametric-Contrastive-Learning fe56535 GPaCo/LT/paco_cifar.py:489, and the copy of its reader in multitask_cifar.py.
    """
    reader = other.site.module
    return not reader.is_script or reader in linked(program, found.site.module)


def _behind(live: LiveProgram, found: FileCall, other: FileCall, *, waited: bool = False) -> bool:
    """Whether the function in which two calls come together, if one is seen, comes to the read after the write: with no
    wait of all between the two, or `waited` or not.

    What a run resumes from it has read before its loop begins: Parametric-Contrastive-Learning fe56535
    GPaCo/LT/paco_cifar.py:213.
    """
    ways = _ways(live, found, other)
    return not ways or any(
        comes_back(*way) and (waited or not _all_meet(live, *way)) for way in ways
    )


def _ways(
    live: LiveProgram, found: FileCall, other: FileCall
) -> list[tuple[Function, ast.AST, ast.AST]]:
    """The functions in which a write and a read come together, each with the nodes that lead to the one and to the other."""
    reads = _ways_to(live, other, frozenset())
    writes = _ways_to(live, found, reads.keys())
    return [
        (function, write, read)
        for function in writes.keys() & reads.keys()
        for write in writes[function]
        for read in reads[function]
    ]


def _ways_to(
    live: LiveProgram, found: FileCall, ends: Set[Function]
) -> dict[Function, list[ast.AST]]:
    """The functions that lead to a call, each with the nodes that do so in it; not those above one of `ends`."""
    ways: dict[Function, list[ast.AST]] = {found.function: [found.site.node]}
    waiting = [found.function]
    while waiting:
        function = waiting.pop()
        for user, call in _callers(live, function) if function not in ends else ():
            if user not in ways:
                ways[user] = []
                waiting.append(user)
            ways[user].append(call)
    return ways


def _is_tried(function: Function, reads: ast.AST, writes: ast.AST) -> bool:
    """Whether a file is written where it could not be read: a rank that comes late reads what is half written.

    Pretrained-Language-Model 0598f02 CAME/run_glue.py:385: `try: with open(path, "rb")`, `except: … pickle.dump(…)`.
    """
    return any(
        any(reads is part for statement in node.body for part in walk(statement))
        and any(writes is part for handler in node.handlers for part in walk(handler))
        for node in own_nodes(function, ast.Try)
    )


def _may_be_open(live: LiveProgram, function: Function, writes: ast.AST, reads: ast.AST) -> bool:
    """Whether a rank comes to a read behind a write that another may still be at: no wait of all lies between."""
    return (
        comes_back(function, writes, reads)
        and not _all_meet(live, function, writes, reads)
        and not _are_of_two_modes(live, writes, reads)
    )


def _are_of_two_modes(live: LiveProgram, writes: ast.AST, reads: ast.AST) -> bool:
    """Whether an option lets no run come to both of two calls.

    WeakTr 3457ad3 main.py:374: read under the flag that the write at 299 is not for.
    """
    calls = [live.call_at(node) if isinstance(node, ast.Call) else None for node in (writes, reads)]
    match calls:
        case [CallGroup(site=written), CallGroup(site=read)]:
            return never_both(written, read)
    return False


@remembered
def _all_meet(live: LiveProgram, function: Function, writes: ast.AST, reads: ast.AST) -> bool:
    """Whether all ranks meet between two nodes of a function, in it or in what it calls, and not in a loop around both:
    there the next turn writes while a rank reads.

    EVF-SAM 9935dc5 model/unilm/beit3/run_beit3_finetuning.py:310: `torch.distributed.barrier()`, 89 lines below the write of
    DeepSpeed's configuration and in front of `ds_init(…)`.
    """
    summaries = live.summaries_of(function)
    if summaries is None or any(
        loop.lineno <= _line(writes) and _line(reads) <= (loop.end_lineno or loop.lineno)
        for loop in own_nodes(function, ast.For, ast.While)
    ):
        return False
    traces = live.answer(Traces)
    runs = [run for _, group in groups_of(summaries) for rank, run in group if rank is MAIN]
    known = _held_at(live, writes) | _held_at(live, reads)
    return bool(runs) and all(
        any(_is_met(step, writes, reads, known) for step in traces.of(run)) for run in runs
    )


def _held_at(live: LiveProgram, node: ast.AST) -> frozenset[tuple[str, bool]]:
    """The conditions that hold where a run comes to a call, as they are written, and how each came out."""
    group = live.call_at(node)
    sites = [site for _, site in group.sites] if group is not None else []
    return frozenset(
        (ast.unparse(guard.node), guard.taken) for site in sites for guard in site.guards
    )


def _is_met(
    step: Step, writes: ast.AST, reads: ast.AST, known: frozenset[tuple[str, bool]]
) -> bool:
    """Whether a step is a wait of all ranks between two nodes, and on no arm that excludes the second.

    Its conditions are `known` to hold for one of the two, or hold wherever there are several ranks: without
    `if config["wait"]` the read comes with no wait.
    """
    site = step.outer
    return (
        step.effect is None
        and site.node is not writes
        and _line(writes) < site.node.lineno < _line(reads)
        and all(
            guard.value.variance is Variance.UNIFORM
            and not mentions_rank(guard.node)
            and _comes_out_so(guard, known)
            for each in step.sites
            for guard in each.guards
        )
        and not any(
            reads in walk(each) for guard in site.guards for each in _other_arm(site, guard)
        )
    )


def _comes_out_so(guard: Guard, known: frozenset[tuple[str, bool]]) -> bool:
    text = ast.unparse(guard.node)
    return (
        guard.value.known
        or "world_size" in guard.value.tags
        or (text, guard.taken) in known
        or _ASKS_FOR_RANKS.search(text) is not None
    )


def _other_arm(site: CallSite, guard: Guard) -> Sequence[ast.stmt]:
    """The statements of the arm of a condition that a call does not stand in."""
    block = statement_with_test(site.function, guard.node) if not guard.exits else None
    return () if block is None else block.orelse if guard.taken else block.body


def comes_back(function: Function, writes: ast.AST, reads: ast.AST) -> bool:
    """Whether a function comes to one node after the other: it stands below, or in the same loop.

    Not from an arm that ends in a `return`: EasyCV 901ff18 easycv/file/file_io.py:441, above `self._copy_oss(src, dst)`.
    """
    if any(
        first <= _line(writes) <= last and not first <= _line(reads) <= last
        for first, last in _returning(function)
    ):
        return False
    if _line(reads) >= _line(writes):
        return True
    return any(
        node.lineno <= _line(reads) and _line(writes) <= (node.end_lineno or node.lineno)
        for node in own_nodes(function, ast.For, ast.While)
    )


@remembered
def _returning(function: Function) -> tuple[tuple[int, int], ...]:
    """The first and last lines of the arms of conditions from which a function comes to nothing below."""
    return tuple(
        (arm[0].lineno, arm[-1].end_lineno or arm[-1].lineno)
        for node in own_nodes(function, ast.If)
        for arm in (node.body, node.orelse)
        if arm
        and isinstance(arm[-1], ast.Return)
        and not any(any(walk(statement, ast.Break, ast.Continue)) for statement in arm)
    )


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _loads_again(function: Function, folder: Parts) -> Iterator[Place]:
    """Where a file has a `from_pretrained` of the folder that is written, as `function` names it."""
    if "from_pretrained" not in function.module.source.text:
        return
    for user in function.module.all_functions:
        for node in own_nodes(user, ast.Call):
            if last_name(node.func) == "from_pretrained":
                given = (*node.args[:1], *(k.value for k in node.keywords))
                if any(parts_of(path, user) == folder for path in given):
                    yield function.module, node


def _lists_others(other: FileCall, read: Parts) -> bool:
    """Whether a call lists files by a pattern that fits none of a tokenizer or a configuration.

    LLaMA-VID b3d3ae2 llamavid/train/train.py:1189: `Path(args.output_dir).glob("checkpoint-*")`.
    """
    if other.site.method not in ("glob", "rglob", "iglob"):
        return False
    pattern = other.site.argument_node(0, "pattern")
    match pattern:
        case ast.Constant(value=str() as text):
            pass
        case _ if read and isinstance(read[-1], str):
            text = read[-1]
        case _:
            return False
    return not any(fnmatch(name, text.rpartition("/")[2]) for name in sinks.SMALL_FILES)


def _handed_on(
    live: LiveProgram, path: ast.expr, function: Function, writes: ast.AST
) -> Iterator[Place]:
    """Where the path goes, behind the write, to something else than writes, questions and messages.

    CodeGen e3e8855 CodeXGLUE/Code-Text/code-to-text/code/run.py:476: `computeMaps(predictions, dev_gold)`.
    """
    parts = parts_of(path, function)

    def means_it(node: ast.expr) -> bool:
        return isinstance(node, ast.Name | ast.Call | ast.JoinedStr | ast.BinOp) and (
            parts_of(node, function) == parts
        )

    for node in own_nodes(function, ast.Call, ast.Return, ast.Assign):
        match node:
            case ast.Call(func=called, args=args) if (
                node is not writes
                and last_name(called) not in sinks.TAKE_PATHS_ALONE
                and any(means_it(each) for each in args)
                and not sinks.WRITES.search(last_name(called))
                and _may_be_open(live, function, writes, node)
            ):
                yield function.module, node
            case ast.Return(value=ast.expr() as returned) if means_it(returned):
                if not _result_is_dropped(live, function):
                    yield next(_used_by_callers(live, function), (function.module, node))
            case ast.Assign(targets=[ast.Attribute(attr=attr)], value=kept) if means_it(kept):
                if _is_asked_behind(live, attr, function, writes):
                    yield function.module, node


def _used_by_callers(live: LiveProgram, function: Function, steps: int = 2) -> Iterator[Place]:
    """Where those who call a function, or get its result from these, hand it to something else."""
    for user, call in _callers(live, function):
        kept = {
            target.id
            for node in own_nodes(user, ast.Assign)
            if node.value is call
            for target in node.targets
            if isinstance(target, ast.Name)
        }

        def means_it(node: ast.AST | None, call: ast.Call = call, kept: set[str] = kept) -> bool:
            return node is call or (isinstance(node, ast.Name) and node.id in kept)

        for node in own_nodes(user, ast.Call, ast.Return):
            match node:
                case ast.Call(args=args, keywords=keywords) if any(
                    map(means_it, (*args, *(each.value for each in keywords)))
                ):
                    yield user.module, node
                case ast.Return(value=returned) if steps and means_it(returned):
                    yield from _used_by_callers(live, user, steps - 1)


def _is_asked_behind(live: LiveProgram, attr: str, function: Function, writes: ast.AST) -> bool:
    """Whether an attribute is read behind a call, or by another function of the programs that its file is part of.

    Parametric-Contrastive-Learning fe56535 GPaCo/LT/paco_cifar.py:213: `args.resume = filename` where it is there, which the
    lines below load before the first epoch.
    """
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attr
        and isinstance(node.ctx, ast.Load)
        and (user is not function or comes_back(function, writes, node))
        for module in linked(live.program, function.module)
        if attr in module.source.text
        for user in (module.body, *module.all_functions)
        for node in own_nodes(user)
    )


def _result_is_dropped(live: LiveProgram, function: Function, steps: int = 2) -> bool:
    """Whether nobody takes what a function returns: all calls of its name are statements of their own.

    dinov3 6876159 dinov3/eval/text/train_dinotxt.py:292: `write_config(…)`, which returns the path. Nor who only returns it
    in turn: mttl 3724abf mttl/models/base_model.py:132, `config_file = self.config.save_pretrained(…)`.
    """
    calls = _callers(live, function)
    alone = {
        id(node.value) for user in {user for user, _ in calls} for node in own_nodes(user, ast.Expr)
    }
    return all(
        id(call) in alone
        or (steps > 0 and _only_returns(user, call) and _result_is_dropped(live, user, steps - 1))
        for user, call in calls
    )


def _only_returns(user: Function, call: ast.Call) -> bool:
    """Whether a function does nothing with what a call gives it but return it."""
    nodes = own_nodes(user)
    kept = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and node.value is call
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    returned = {id(part) for node in nodes if isinstance(node, ast.Return) for part in walk(node)}
    return id(call) in returned or (
        bool(kept)
        and all(
            id(node) in returned
            for node in nodes
            if isinstance(node, ast.Name) and node.id in kept and isinstance(node.ctx, ast.Load)
        )
    )
