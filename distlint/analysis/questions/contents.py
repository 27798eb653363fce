"""What a call writes to a file: whether all ranks write the same, and whether the run reads it back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.environment import blocks_of
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import (
    assigned_names,
    assignments,
    default_of,
    mentions_rank,
    own_nodes,
    target_names,
)
from distlint.analysis.questions.filesystem import (
    FileCall,
    appended,
    check_before,
    file_calls,
    handle_of,
    on_the_other_arm,
)
from distlint.analysis.questions.launched import roots
from distlint.analysis.questions.paths import Parts, holds, parts_of
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Part
from distlint.knowledge import sinks
from distlint.knowledge.schema import Effect
from distlint.nodes import children, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_SETTINGS: Final = re.compile(
    r"(?:^|_)(?:args?|cfgs?|configs?|conf|opts?|options|hparams|hps|flags)$", re.IGNORECASE
)
"""Names of what the command line and the configuration say."""
_FROM_OPTIONS: Final = re.compile(r"(?:^|_)(?:args?|opts?|options|flags)$", re.IGNORECASE)
"""Those that hold the options of the command line as they are."""
_OF_RANK: Final = re.compile(
    r"(?:^|_)(?:rank|gpu|device|process_index|process_id|is_main_process|is_master)$|^dist_url$"
)
"""Settings that a rank fills in for itself."""
_SMALL: Final = re.compile(
    r"__file__|conf|cfg|ya?ml|\.(?:py|json|toml|ini|txt|md|sh|gin)['\"]", re.IGNORECASE
)
_LARGE: Final = re.compile(r"ckpt|checkpoint|weight|\.pth?\b|\.bin\b|latest|best", re.IGNORECASE)
_ON_ALL: Final = re.compile(r"(?i)all_?(?:gather|reduce)|gather_for_metrics")
"""Names of what gives every rank the shares of all."""
_ENDED: Final = frozenset({Part.WHOLE, Part.PADDED, Part.SUM})
_WORD: Final = re.compile(r"[\"'][a-z]+[\"']")
_LARGE_FROM: Final = re.compile(r"(?:torch|np|numpy)\.")
_DATA_MODULE: Final = "lightning.pytorch.LightningDataModule"
_MAX_CALLERS: Final = 3
_EXPRESSIONS: Final = (
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.Constant,
    ast.Dict,
    ast.DictComp,
    ast.FormattedValue,
    ast.GeneratorExp,
    ast.IfExp,
    ast.JoinedStr,
    ast.List,
    ast.ListComp,
    ast.Slice,
    ast.Starred,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
    ast.comprehension,
    ast.keyword,
    ast.operator,
    ast.boolop,
    ast.cmpop,
    ast.unaryop,
)
"""What is the same where its parts are; sets are not: each process orders strings in its own way."""


def equal_and_unread(live: LiveProgram, found: FileCall) -> bool:
    """Whether all ranks write the same few lines to a file that nothing in their run reads.

    What they leave is what one of them would have written. mmdetection's `cfg.dump(osp.join(cfg.work_dir, …))` behind
    `init_dist()` (UniAD 5b70bf2 tools/train.py:173), `shutil.copy(args.config, …)` (HumanBench PATH/test.py:86),
    `tokenizer.save_pretrained(…)` behind the training (RLHF-Reward-Modeling bradley-terry-rm/gemma_2B_rm.py:283).
    """
    if found.effect is not Effect.WRITE or found.path is None:
        return False
    written = _written(found)
    if not written:
        return _only_empties(live, found) and not _read(live, found)
    told = frozenset((found.function, name) for name in _names_of(found.path, found.function))
    if found.site.method == "save_pretrained":
        return not _read(live, found)
    alike = _Alike(live)
    given = (_as_given(found, each) for each in written)
    return all(
        alike.holds(each, found.function, seen=told)
        or _is_prose(found, each)
        or _marks_an_end(found, each)
        or _is_pickle_of_options(live.program, found, each)
        or _is_put_together(live, each, found.function)
        for each in given
    ) and not _read(live, found)


def _only_empties(live: LiveProgram, found: FileCall) -> bool:
    """Whether all ranks empty a file, and come to a collective before a line is put into it.

    build-nanogpt 6104ab1 train_gpt2.py:373: `with open(log_file, "w"): pass`, and rank 0 appends behind `all_reduce()`.
    """
    assert found.path is not None
    start = found.site.statement
    match start:
        case ast.With(items=[_], body=[ast.Pass()]):
            pass
        case _:
            return False
    path = parts_of(found.path, found.function)
    calls = [
        call
        for node in own_nodes(found.function)
        if isinstance(node, ast.Call)
        and node.lineno > start.lineno
        and (call := live.call_at(node)) is not None
    ]
    meetings = [
        call.site.node.lineno
        for call in calls
        if len(call.classes) > 1 and any(r.effect is Effect.COLLECTIVE for r in call.site.rows)
    ]
    added = [
        call.site.node.lineno
        for call in calls
        if (to := appended(call.site)) is not None and parts_of(to, found.function) == path
    ]
    return bool(added) and all(any(met < line for met in meetings) for line in added)


def _marks_an_end(found: FileCall, written: ast.expr) -> bool:
    """Whether a line with the time says that something is done: what is asked of such a file is whether it is there.

    NVlabs/Eagle 783f656 Eagle2_5/eaglevl/train/eagle_2_5_vl_finetune.py:674: `f.write('done: ' + time.ctime())`.
    """
    assert found.path is not None
    last = parts_of(found.path, found.function)[-1:]
    return (
        bool(last)
        and isinstance(last[0], str)
        and sinks.MARKS_AN_END.search(last[0]) is not None
        and all(
            dotted_name(part.func).startswith(("time.", "datetime."))
            or last_name(part.func) == "str"
            for part in walk(written)
            if isinstance(part, ast.Call)
        )
        and {n.id for n in walk(written) if isinstance(n, ast.Name)} <= {"time", "datetime", "str"}
    )


def _is_prose(found: FileCall, written: ast.expr) -> bool:
    """Whether a text is for people alone, and nothing of a rank's own is seen in it: whose text is left is one to them.

    autotrain-advanced b5c98fb src/autotrain/trainers/image_classification/__main__.py:218: the model card.
    """
    assert found.path is not None
    last = parts_of(found.path, found.function)[-1:]
    return (
        bool(last)
        and isinstance(last[0], str)
        and sinks.FOR_PEOPLE.search(last[0]) is not None
        and not any(
            mentions_rank(part)
            for part in walk(written)
            if isinstance(part, ast.Name | ast.Attribute)
        )
    )


def _is_pickle_of_options(program: Program, found: FileCall, written: ast.expr) -> bool:
    """Whether the options of the command line are pickled, as they are: what differs is which rank wrote them.

    People read a text in which one rank stands for all, and no pickle. salesforce/CodeRL ec3c526
    transformers/examples/research_projects/bertology/run_prune_gpt.py:364: `torch.save(args, …)`; XLM cd281d3
    xlm/utils.py:55: `pickle.dump(params, open(…, "wb"))`.
    """
    mode = found.site.argument(1, "mode") if found.site.name in sinks.OPENS else None
    binary = mode is not None and isinstance(mode.const, str) and "b" in mode.const
    return (binary or found.site.name == "torch.save") and _are_options(
        program, written, found.function, _MAX_CALLERS
    )


def _is_put_together(
    live: LiveProgram, written: ast.expr, function: Function, depth: int = _MAX_CALLERS
) -> bool:
    """Whether what is written is what every rank has got when the ranks put their shares together, and nothing besides.

    facebookresearch/multimodal 3c2a85a examples/albef/finetune_retrieval.py:396: ranks of scores behind `all_reduce()`.
    """
    made = assignments(function).get(dotted_name(written), ()) if not is_settings(written) else ()
    match [*made] or [written]:
        case [ast.Dict(values=values)]:
            # Beside the state of a model it is one: `{"model": model.state_dict(), "score": total}`.
            return bool(values and depth) and all(
                _is_put_together(live, value, function, depth - 1) for value in values
            )
    held = live.answer(shares).of(written)
    return (
        held.part in _ENDED
        and isinstance(held.ended, ast.Call)
        and _ON_ALL.search(last_name(held.ended.func)) is not None
    )


def _are_options(program: Program, node: ast.expr, function: Function, depth: int) -> bool:
    """Whether a variable holds what a parser of the command line has returned."""
    match node:
        case ast.Call(func=called):
            return last_name(called) in sinks.PARSES_OPTIONS
        case ast.Name(id=name):
            pass
        case _:
            return False
    made = assignments(function).get(name, ())
    if made:
        return all(_are_options(program, each, function, depth) for each in made)
    given = [
        (argument, user)
        for user, call in callers_by_name(program, function)
        if (argument := argument_of(call, function, name)) is not None
    ]
    return bool(given and depth) and all(
        _are_options(program, each, user, depth - 1) for each, user in given
    )


def is_small_object(node: ast.expr) -> bool:
    """Whether an expression names what is saved in a few small files: a tokenizer, a processor, a configuration."""
    match node:
        case ast.Name() | ast.Attribute():
            name = last_name(node)
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            pass
        case _:
            return False
    return sinks.SMALL_OBJECTS.search(name) is not None


def _is_loaded(node: ast.expr, site: CallSite) -> bool:
    """Whether what is saved was loaded as it is, the same by all ranks: no tokenizer that each trains on its texts."""
    name = dotted_name(node)
    receiver = site.receiver
    if receiver is not None and receiver.variance is not Variance.UNIFORM:
        return False
    made = assignments(site.function).get(name, ())
    return not any(
        isinstance(call, ast.Call) and sinks.TRAINS_TOKENIZER.match(last_name(call.func))
        for value in made
        for call in walk(value)
    ) and not any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and sinks.TRAINS_TOKENIZER.match(call.func.attr)
        and dotted_name(call.func.value) == name
        for call in own_nodes(site.function)
    )


def _goes_to_hub(site: CallSite) -> bool:
    """Whether a call also uploads what it writes: every rank a commit of its own."""
    value = site.keywords.get("push_to_hub")
    return value is not None and value.truthiness() is not False


def _as_given(found: FileCall, node: ast.expr) -> ast.expr:
    """What a variable or attribute was assigned further up in the same block as the write, or around it."""
    name = "" if is_settings(node) else dotted_name(node)
    block, statement = found.function.body, found.site.statement
    last = node
    while name and block:
        above = [each for each in block if each.lineno <= statement.lineno]
        for each in above:
            match each:
                case ast.Assign(targets=[target], value=ast.Call() as value) if dotted_name(
                    target
                ) == name and not any(_put_into(found.function, name)):
                    last = value
                case _ if each is not above[-1] and name in assigned_names(each):
                    last = node
        inner = blocks_of(above[-1]) if above else ()
        block = next((each for each in inner if _stands_in(statement, each)), [])
    return last


def _stands_in(statement: ast.stmt, block: list[ast.stmt]) -> bool:
    return any(part is statement for each in block for part in walk(each))


def _written(found: FileCall) -> list[ast.expr] | None:
    """What a call, or the calls that it opens a file for, write to it; None where that is not known, or large."""
    site = found.site
    if site.name in sinks.OPENS:
        row = sinks.OPENS[site.name]
        mode = site.argument(row.mode, row.mode_keyword)
        if mode is None or not isinstance(mode.const, str) or not mode.const.startswith("w"):
            return None
        return _into(site)
    if site.name in sinks.COPIES:
        source = site.argument_node(0, "src")
        text = ast.unparse(source) if source is not None else ""
        small = _SMALL.search(text) and not _LARGE.search(text)
        return [source] if source is not None and small else None
    function = site.node.func
    if isinstance(function, ast.Attribute) and site.method in sinks.WRITE_THEMSELVES:
        owner = function.value
        if site.method == "save_pretrained" and is_small_object(owner):
            small = _is_loaded(owner, site) and not _goes_to_hub(site)
            return [owner] if small else None
        if is_settings(owner):
            return [owner]
    if site.name in sinks.WRITE_FIRST:
        given = site.argument_node(0, sinks.WRITE_FIRST[site.name])
        return [given] if given is not None else None
    return None


def _into(site: CallSite) -> list[ast.expr] | None:
    """What is written to the file that a call opens; None where it is handed to something else."""
    handle = handle_of(site)
    written: list[ast.expr] = []
    known: set[int] = set()
    uses: list[ast.AST] = [site.node] if handle is None else []
    for node in _while_open(site):
        if handle is not None and isinstance(node, ast.Name) and node.id == handle:
            if isinstance(node.ctx, ast.Load):
                uses.append(node)
            continue
        if not isinstance(node, ast.Call):
            continue
        match node:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="write" | "writelines"), args=[given]
            ):
                known.add(id(owner))
            case ast.Call(func=ast.Attribute(value=owner, attr="flush" | "close"), args=[]):
                known.add(id(owner))
                continue
            case ast.Call(
                func=ast.Name(id="print"), keywords=[ast.keyword(arg="file", value=owner)]
            ):
                known.add(id(owner))
                if _is_handle(owner, handle, site):
                    written += node.args
                continue
            case ast.Call(
                func=ast.Attribute(attr="dump" | "safe_dump" | "save"), args=[given, owner, *_]
            ):
                known.add(id(owner))
            case ast.Call(
                func=ast.Attribute(attr="save"),
                args=[],
                keywords=[
                    ast.keyword(arg="config", value=given),
                    ast.keyword(arg="f", value=owner),
                ],
            ):
                # dinov3 6876159 dinov3/eval/text/train_dinotxt.py:250: OmegaConf's
                known.add(id(owner))
            case _:
                continue
        if _is_handle(owner, handle, site):
            written.append(given)
    return written if uses and all(id(use) in known for use in uses) else None


def _while_open(site: CallSite) -> Iterator[ast.AST]:
    """The nodes at which the file that a call opens may be used: those of its `with` statement, if it has one.

    SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:86: further down two more files are called `f`.
    """
    for node in own_nodes(site.function):
        if isinstance(node, ast.With | ast.AsyncWith) and any(
            item.context_expr is site.node for item in node.items
        ):
            return walk(node)
    return iter(own_nodes(site.function))


def _is_handle(node: ast.expr, handle: str | None, site: CallSite) -> bool:
    if handle is None:
        return node is site.node
    return isinstance(node, ast.Name) and node.id == handle


def _names_of(path: ast.expr, function: Function) -> Iterator[str]:
    """The names that a path is made from: the same on all ranks, as it is. Of `args.out`, not `args`."""
    assigned = assignments(function)
    seen: set[str] = set()
    stack: list[ast.AST] = [path]
    while stack:
        nodes = list(walk(stack.pop()))
        owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Name) and id(node) not in owners and node.id not in seen:
                seen.add(node.id)
                yield node.id
                stack += assigned.get(node.id, ())


def is_settings(node: ast.expr) -> bool:
    """Whether an expression names what the command line and the configuration say: `args`, `cfg.model_args`."""
    return isinstance(node, ast.Name | ast.Attribute) and bool(_SETTINGS.search(last_name(node)))


@dataclass(frozen=True, slots=True)
class _Alike:
    """Whether an expression is the same on all ranks, by what it is made of."""

    live: LiveProgram

    def holds(
        self,
        node: ast.AST,
        function: Function,
        depth: int = _MAX_CALLERS,
        seen: frozenset[tuple[Function, str]] = frozenset(),
    ) -> bool:
        """Whether `node`, which stands in `function`, is made of arguments, configuration and constants alone.

        Names in `seen` are known to be the same, or are being asked about.
        """
        match node:
            case ast.Name(id=name):
                return self._name(name, function, depth, seen)
            case ast.Attribute(value=value, attr=attr):
                if _SETTINGS.search(attr):
                    return not _filled_by_rank(self.live.program, attr)
                if attr != "__dict__" and is_settings(value):
                    return _OF_RANK.search(attr) is None
                if dotted_name(node) == "sys.argv":
                    return True
                if isinstance(value, ast.Name) and value.id == "self":
                    return self._kept(attr, function, depth, seen)
                return self.holds(value, function, depth, seen)
            case ast.Call(func=called, args=args, keywords=keywords):
                given = [*args, *(keyword.value for keyword in keywords)]
                return self._calls(called, function, depth, seen) and all(
                    self.holds(each, function, depth, seen) for each in given
                )
        return isinstance(node, _EXPRESSIONS) and all(
            self.holds(each, function, depth, seen) for each in children(node)
        )

    def _calls(
        self,
        called: ast.expr,
        function: Function,
        depth: int,
        seen: frozenset[tuple[Function, str]],
    ) -> bool:
        if last_name(called) not in sinks.SAME_FROM_SAME or _LARGE_FROM.match(dotted_name(called)):
            return False
        if not isinstance(called, ast.Attribute):
            return True
        root = dotted_name(called).partition(".")[0]
        return root in function.module.imports or self.holds(called.value, function, depth, seen)

    def _name(
        self, name: str, function: Function, depth: int, seen: frozenset[tuple[Function, str]]
    ) -> bool:
        if (function, name) in seen or name == "__file__":
            return True
        if _SETTINGS.search(name) or _is_annotated(function, name):
            told = (name, *_options_put_into(function, name))
            return not any(_filled_by_rank(self.live.program, each) for each in told)
        seen |= {(function, name)}
        values = [*assignments(function).get(name, ()), *_bound(function, name)]
        if values:
            changed = [*values, *_put_into(function, name)]
            return all(self.holds(each, function, depth, seen) for each in changed)
        if _is_configured(self.live.program, function, name):
            return True
        if name in function.parameters:
            given = [
                (argument or default_of(function, name), user)
                for user, call in callers_by_name(self.live.program, function)
                # `def save(state): torch.save(state, path)` is no caller of its own.
                if user is not function
                for argument in (argument_of(call, function, name),)
            ]
            return bool(given and depth) and all(
                value is not None and self.holds(value, user, depth - 1, seen)
                for value, user in given
            )
        body = function.module.body
        return (
            function is not body
            and name in assignments(body)
            and self._name(name, body, depth, seen)
            and all(
                self.holds(each, user, depth, seen)
                for user in function.module.all_functions
                for each in _put_into(user, name)
            )
        )

    def _kept(
        self, attr: str, function: Function, depth: int, seen: frozenset[tuple[Function, str]]
    ) -> bool:
        """Whether an attribute of `self` keeps what is the same: here, or else wherever it is assigned."""
        name = f"self.{attr}"
        if (function, name) in seen:
            return True
        seen |= {(function, name)}
        here = assignments(function).get(name)
        methods = function.cls.self_assigned.get(attr, ()) if function.cls is not None else ()
        kept = [(function, here)] if here else [(m, assignments(m).get(name, [])) for m in methods]
        return bool(kept) and all(
            self.holds(value, method, depth, seen) for method, values in kept for value in values
        )


def _bound(function: Function, name: str) -> Iterator[ast.expr]:
    """What a `with` or a comprehension of a function gives a name to."""
    for node in own_nodes(function):
        match node:
            case ast.withitem(context_expr=given, optional_vars=ast.Name(id=bound)) if (
                bound == name
            ):
                yield given
            case ast.comprehension(target=target, iter=given) if name in target_names(target):
                yield given


def _put_into(function: Function, name: str) -> Iterator[ast.expr]:
    """What is put into the collection of a name, or into one that it holds: elements, and what its methods are given.

    av_hubert 258fb50 avhubert/infer_s2s.py:225: `result_dict["hypo"].append(…)`.
    """
    for node in own_nodes(function):
        match node:
            case (
                ast.Assign(targets=[ast.Subscript(value=owner)], value=given)
                | ast.AugAssign(target=ast.Subscript(value=owner), value=given)
            ) if _collection(owner) == name:
                yield given
            case ast.AugAssign(target=ast.Name(id=owner), value=given) if owner == name:
                yield given
            case ast.Call(
                func=ast.Attribute(
                    value=owner,
                    attr="update" | "append" | "extend" | "add" | "insert" | "setdefault",
                ),
                args=args,
                keywords=keywords,
            ) if _collection(owner) == name:
                yield from (*args, *(keyword.value for keyword in keywords))


def _options_put_into(function: Function, name: str) -> Iterator[str]:
    """The options of the command line that a function puts into a configuration, all of them.

    ParallelWaveGAN 8674037 parallel_wavegan/bin/train.py:1101: `config.update(vars(args))`, with `--rank` among them.
    """
    for given in _put_into(function, name):
        for node in walk(given):
            match node:
                case ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=options)]):
                    yield options
                case ast.Attribute(value=ast.Name(id=options), attr="__dict__"):
                    yield options


def _collection(node: ast.expr) -> str:
    """The name of the collection in which something is held: `kept["a"]`, `kept.setdefault("a", [])`."""
    while True:
        match node:
            case ast.Subscript(value=node):
                pass
            case ast.Call(func=ast.Attribute(value=node, attr="setdefault" | "get")):
                pass
            case ast.Name(id=name):
                return name
            case _:
                return ""


def _is_annotated(function: Function, name: str) -> bool:
    """Whether a parameter is said to be a configuration, or the options of the command line.

    splade 8dcd33a splade/utils/utils.py:153: `exp_dict: DictConfig`, which hydra has made.
    """
    return isinstance(function.node, ast.FunctionDef) and any(
        isinstance(each, ast.arg)
        and each.arg == name
        and each.annotation is not None
        and last_name(each.annotation) in sinks.TYPES_OF_SETTINGS
        for each in walk(function.node.args)
    )


def _is_configured(program: Program, function: Function, name: str) -> bool:
    """Whether a name is a parameter of a data module's constructor: every process makes it from one configuration."""
    return (
        function.name == "__init__"
        and function.cls is not None
        and isinstance(function.node, ast.FunctionDef)
        and any(isinstance(n, ast.arg) and n.arg == name for n in walk(function.node.args))
        and _DATA_MODULE in program.mro(function.cls)[1]
    )


@remembered
def _filled_by_rank(program: Program, name: str) -> bool:
    """Whether ranks put their own number or device into the settings of a name: then each dumps others.

    microsoft/Cream 4a13c40 AutoFormer/supernet_train.py:315: `args.gpu`, by `init_distributed_mode(args)`.
    """
    for module in program.modules.values():
        kinds: set[int] = set()
        for node in walk(module.source.tree):
            match node:
                case ast.Assign(targets=[ast.Attribute(attr="device") as kept], value=value) if (
                    _is_kind_of_device(value, module)
                ):
                    kinds.add(id(kept))
                case ast.Attribute(value=owner, attr=attr, ctx=ast.Store()) if (
                    last_name(owner) == name and _OF_RANK.search(attr) and id(node) not in kinds
                ):
                    return True
                case ast.Subscript(
                    value=owner, slice=ast.Constant(value=str() as attr), ctx=ast.Store()
                ) if last_name(owner) == name and _OF_RANK.search(attr):
                    return True
                case ast.Call(
                    func=ast.Attribute(attr="add_argument"),
                    args=[ast.Constant(value=str() as option), *_],
                ) if _FROM_OPTIONS.search(name) and _OF_RANK.search(
                    option.lstrip("-").replace("-", "_")
                ):
                    return True
    return False


def _is_kind_of_device(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a kind of device, the same on all ranks: "cuda", and not "cuda:1".

    Vision-RWKV 0e0e38a classification/train.py:170: `cfg.device = args.device or auto_select_device()`.
    """
    match node:
        case ast.Constant(value=str() as text):
            return not any(map(str.isdigit, text))
        case ast.BoolOp(values=values):
            return all(_is_kind_of_device(each, module) for each in values)
        case ast.IfExp(body=one, orelse=other):
            return all(_is_kind_of_device(each, module) for each in (one, other))
        case ast.Attribute(value=ast.Name(id=owner), attr="device") if _FROM_OPTIONS.search(owner):
            kept = re.findall(rf"\b{owner}\.device = (.*)", module.source.text)
            return all(_WORD.fullmatch(value) for value in kept)
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
            return module.imports.get(name) in sinks.KINDS_OF_DEVICES
    return False


def _read(live: LiveProgram, found: FileCall) -> bool:
    """Whether something in a run of the ranks may read the file that a call writes, here or where the path comes from."""
    assert found.path is not None
    named: list[tuple[ast.expr, Function, ast.AST]] = [
        (found.path, found.function, found.site.node)
    ]
    if isinstance(found.path, ast.Name) and found.path.id in found.function.parameters:
        # A method has many namesakes: what is called as `save_pretrained()` in a copy of transformers (CodeRL ec3c526).
        known = live.callers.get(found.function, ()) if found.function.cls is not None else ()
        callers = [(site.function, site.node) for site in known]
        named += [
            (given, user, call)
            for user, call in callers or callers_by_name(live.program, found.function)
            if (given := argument_of(call, found.function, found.path.id)) is not None
        ]
    return any(_read_as(live, found, *each) for each in named)


def _read_as(
    live: LiveProgram, found: FileCall, path: ast.expr, function: Function, writes: ast.AST
) -> bool:
    """Whether a file is read that a function calls `path`, and that is written in the call `writes`."""
    parts = parts_of(path, function)
    folder = found.site.method == "save_pretrained"
    return (
        (_is_for_library(path, function) and not _never_reads(live.program))
        or any(_reads(other, found, parts) for other in live.answer(file_calls))
        or (folder and _loads_again(function, parts))
        or (not folder and _handed_on(live.program, path, function, writes))
        or _named_in_reading(live, found, parts)
    )


def _is_for_library(path: ast.expr, function: Function) -> bool:
    """Whether a path is kept where a library looks for it: `args.deepspeed_config`."""
    names = {dotted_name(node) for node in walk(path)}
    return any(name.rpartition(".")[2] in sinks.READ_BY_LIBRARIES for name in names if name) or any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr in sinks.READ_BY_LIBRARIES
        for node in own_nodes(function)
    )


@remembered
def _never_reads(program: Program) -> bool:
    """Whether DeepSpeed, which looks for its configuration there, is handed to a variable that nothing calls.

    UniRepLKNet b5677d8 Video/run_class_finetuning.py:755: `ds_init(…)` stands in a comment.
    """
    kept: set[str] = set()
    called: set[str] = set()
    for module in program.modules.values():
        if "deepspeed" not in module.source.text and not kept:
            continue
        for node in walk(module.source.tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() as given) if (
                    dotted_name(given) == "deepspeed.initialize"
                ):
                    kept.add(name)
                case ast.Call(func=function):
                    called.add(last_name(function))
    return bool(kept) and not called & (kept | sinks.READ_DEEPSPEED)


def _reads(other: FileCall, found: FileCall, path: Parts) -> bool:
    if other.effect is not Effect.READ or other.path is None:
        return False
    read = parts_of(other.path, other.function)
    if found.site.method == "save_pretrained" and _lists_others(other, read):
        return False
    same = read == path or (found.site.method == "save_pretrained" and holds(path, read))
    # Where the arms part by whether the file is there, a rank that comes late reads what is half written
    # (ULIP f194ddb models/pointnext/PointNeXt/openpoints/dataset/s3dis/s3dis.py:92).
    return same and not (
        other.function is found.function
        and on_the_other_arm(other.site, found.site)
        and check_before(found) is None
    )


def _loads_again(function: Function, folder: Parts) -> bool:
    """Whether a file has a `from_pretrained` of the folder that is written, as `function` names it."""
    return any(
        parts_of(path, user) == folder
        for user in function.module.all_functions
        if "from_pretrained" in function.module.source.text
        for node in own_nodes(user)
        if isinstance(node, ast.Call) and last_name(node.func) == "from_pretrained"
        for path in (*node.args[:1], *(k.value for k in node.keywords))
    )


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


def _handed_on(program: Program, path: ast.expr, function: Function, writes: ast.AST) -> bool:
    """Whether the variable that holds the path goes to something else than writes, questions and messages."""
    if not isinstance(path, ast.Name):
        return False
    name = path.id
    for node in own_nodes(function):
        match node:
            case ast.Call(func=called, args=args) if node is not writes and any(
                isinstance(each, ast.Name) and each.id == name for each in args
            ):
                if last_name(called) not in sinks.TAKE_PATHS_ALONE:
                    return True
            case ast.Return(value=ast.Name(id=returned)) if returned == name:
                if not _result_is_dropped(program, function):
                    return True
            case ast.Assign(targets=[ast.Attribute()], value=ast.Name(id=kept)) if kept == name:
                return True
    return False


@remembered
def _result_is_dropped(program: Program, function: Function) -> bool:
    """Whether nobody takes what a function returns: all calls of its name are statements of their own.

    dinov3 6876159 dinov3/eval/text/train_dinotxt.py:292: `write_config(…)`, which returns the path.
    """
    calls = callers_by_name(program, function)
    alone = {
        id(node.value)
        for user in {user for user, _ in calls}
        for node in own_nodes(user)
        if isinstance(node, ast.Expr)
    }
    return bool(calls) and all(id(call) in alone for _, call in calls)


def _named_in_reading(live: LiveProgram, found: FileCall, path: Parts) -> bool:
    """Whether a script that leads to the write also leads to a reading call with the name of the file in it."""
    last = path[-1] if path else None
    if not isinstance(last, str) or "." not in last:
        return False
    above = live.answer(roots)
    told = not isinstance(path[0], str)
    return any(
        above[found.site.module] & above[module]
        for module in live.program.modules.values()
        if last in module.source.text
        and (readers := _reading_named(module, last, told))
        and not (module is found.site.module and readers <= _not_with(found))
    )


def _not_with(found: FileCall) -> set[int]:
    """The nodes on the other arms of the tests that let a write through, where none asks whether the file is there.

    splade 8dcd33a splade/utils/utils.py:168: `if train:` writes, and else what is there is loaded.
    """
    if check_before(found) is not None:
        return set()
    statement = found.site.statement
    return {
        id(node)
        for outer in own_nodes(found.function)
        if isinstance(outer, ast.If)
        for arm, other in ((outer.body, outer.orelse), (outer.orelse, outer.body))
        if _stands_in(statement, arm)
        for each in other
        for node in walk(each)
    }


@remembered
def _reading_named(module: Module, name: str, told: bool) -> frozenset[int]:
    """The calls of a file, by `id`, that read something which is written out with this name at its end.

    Where the folder of what is written is `told`, by settings, one that is written out is another: asteroid 92c8d83
    egs/TAC/train.py:160 reads "local/conf.yml" and writes "conf.yml" into `exp_dir`.
    """
    found: set[int] = set()
    for node in walk(module.source.tree):
        if not isinstance(node, ast.Call) or not sinks.READING_CALLS.search(last_name(node.func)):
            continue
        if _opens_to_write(node):
            continue
        whole = {
            id(argument)
            for part in walk(node)
            if told and isinstance(part, ast.Call) and last_name(part.func) != "join"
            for argument in part.args
        }
        if any(
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and part.value.rpartition("/")[2] == name
            and not (id(part) in whole and "/" in part.value.lstrip("./"))
            for argument in (*node.args, *(k.value for k in node.keywords))
            for part in walk(argument)
        ):
            found.add(id(node))
    return frozenset(found)


def _opens_to_write(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and bool(set(mode.value) & sinks.WRITING_MODES)
        for mode in modes
    )
