"""Edits for what is read from a wrapped model: where unwrapping is the repair, and where it would break training."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from distlint.analysis.interpreter.ir import AttributeSite
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model, span_of
from distlint.analysis.program.definitions import Function, Module, dotted_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.no_model import may_be_no_model
from distlint.analysis.questions.wrapped import (
    layer_without,
    may_run_forward,
    without_gradients,
)
from distlint.edits import Edit, Insert, Move, Replace
from distlint.findings import Applicability, Finding, Fix
from distlint.knowledge import facts
from distlint.nodes import children, last_name, parents_in, walk
from distlint.patterns import pattern
from distlint.repairs.blocks import block_with, blocks
from distlint.repairs.hoisting import names_bound_in

_WITHOUT_TRAINING = (
    "eval",
    "valid",
    "test",
    "sample",
    "generat",
    "infer",
    "predict",
    "log",
    "save",
)
"""Words in the names of functions that train nothing."""


_OF_TRAINING = pattern(r"backward|optim|trainer|\.step\(|\.fit\(", re.IGNORECASE)
_DRAWS = pattern(r"(?:trunc_)?normal_|uniform_|(?:xavier|kaiming)_(?:normal|uniform)_|orthogonal_")
"""Functions that fill a tensor with random numbers (torch 2.13.0 nn/init.py)."""
_OF_WRAPPERS = frozenset({"module", "_orig_mod", "no_sync", "require_backward_grad_sync"})
"""What is asked of a wrapper to know that it is one (torch 2.13.0 nn/parallel/distributed.py)."""


def read_from_model(model: Model, site: AttributeSite, receiver: str) -> Fix:
    """The fix of `receiver.attr` on a wrapper: as a rule `unwrap(receiver).attr`."""
    advice = f"Read `{site.attr}` from the model inside the wrapper"
    # `unwrap` takes off all that is around it, a layer taken off by hand included.
    receiver = receiver.removesuffix(".module")
    unwrapped = (
        Replace(span_of(site.node.value), f"$unwrap({receiver})"),
        *(
            Replace(span_of(asked), f"$unwrap({receiver})")
            for asked in (*_asked_beside(site, receiver), *_loaded_beside(site.function, receiver))
        ),
    )
    if _engine_before(model, site) or may_be_no_model(model, site.function, site.node.value):
        return Fix(Applicability.DISPLAY, advice)
    if _freezes(model, site):
        moved = _before_the_wrap(site)
        freeze = f"Freeze `{receiver}` before it is wrapped: the wrapper waits for gradients of all that trained then"
        if moved is None:
            return Fix(Applicability.DISPLAY, freeze)
        return Fix(Applicability.UNSAFE, freeze, (moved,))
    if _draws(model, site):
        moved = _before_the_wrap(site)
        draw = f"Call `{site.attr}` before the model is wrapped: behind it each rank goes on with the weights that it draws"
        if moved is None:
            return Fix(Applicability.DISPLAY, draw)
        return Fix(Applicability.UNSAFE, draw, (moved,))
    if not may_run_forward(model, site.statement, site.node):
        if _names_its_own_reading(site, receiver):
            return Fix(Applicability.DISPLAY, advice)
        return Fix(Applicability.SAFE, advice, unwrapped)
    if without_gradients(site.function, site.node):
        return Fix(Applicability.SAFE, advice, unwrapped)
    named = any(word in site.function.name.lower() for word in _WITHOUT_TRAINING)
    if named or _trains_nothing(site.module):
        text = f"{advice}; gradients of this call are not synchronised"
        return Fix(Applicability.UNSAFE, text, unwrapped)
    return Fix(
        Applicability.DISPLAY,
        f"Let the model's own `forward` call `{site.attr}`: behind the wrapper's back gradients are not "
        "synchronised",
    )


def once(model: Model, found: list[tuple[AttributeSite, Finding]]) -> Iterator[Finding]:
    """The findings, those of one model in one function with one repair where it unwraps once.

    A name that the function has for the model inside is taken over; else several reads share a new one.
    """
    reads: dict[tuple[Function, str], list[tuple[AttributeSite, Finding]]] = {}
    for site, finding in found:
        if _unwraps(finding):
            key = site.function, ast.unparse(site.node.value)
            reads.setdefault(key, []).append((site, finding))
    made: dict[int, Fix] = {}
    for together in reads.values():
        whole = [each for each in together if _left_beside(each[0], found) is None]
        made |= _named(whole) or _shared(model, whole)
        for site, finding in together:
            if (left := _left_beside(site, found)) is not None and finding.fix is not None:
                text = f"{finding.fix.message}, and mend `{ast.unparse(left.node)}` (line {left.node.lineno}) with it"
                made[id(finding)] = Fix(Applicability.DISPLAY, text)
    for _, finding in found:
        fix = made.get(id(finding))
        yield finding if fix is None else replace(finding, fix=fix)


def _left_beside(
    site: AttributeSite, found: list[tuple[AttributeSite, Finding]]
) -> AttributeSite | None:
    """A read of the same wrapper that has no edit, and that runs whenever another read does.

    RL4LMs 97df0bd rl4lms/envs/text_generation/policy/causal_policy.py:461: a method of the model is called with its
    `config`: to repair one of the two would leave the function raising.
    """
    model = ast.unparse(site.node.value)
    conditions = {(id(guard.node), guard.taken) for guard in site.guards}
    for other, finding in found:
        if (
            other.function is site.function
            and other is not site
            and not (finding.fix is not None and finding.fix.edits)
            and ast.unparse(other.node.value) == model
            and conditions.issuperset((id(guard.node), guard.taken) for guard in other.guards)
        ):
            return other
    return None


def _unwraps(finding: Finding) -> bool:
    """Whether a repair does nothing else than to unwrap."""
    edits = finding.fix.edits if finding.fix is not None else ()
    return bool(edits) and all(
        isinstance(edit, Replace) and edit.code.startswith("$unwrap(") for edit in edits
    )


def _named(together: list[tuple[AttributeSite, Finding]]) -> dict[int, Fix]:
    """Repairs that read from what the function calls the model inside, each where the name is known.

    llm.c f1e2ace train_llama3.py:1101: `raw_model = model.module if ddp else model`.
    """
    made = {}
    for site, finding in together:
        name = _name_of_the_inside(site)
        if name is not None and finding.fix is not None:
            edits = tuple(replace(edit, code=name) for edit in _replaced(finding.fix))
            advice = f"Read `{site.attr}` from `{name}`, the model inside the wrapper"
            made[id(finding)] = replace(finding.fix, message=advice, edits=edits)
    return made


def _replaced(fix: Fix) -> list[Replace]:
    return [edit for edit in fix.edits if isinstance(edit, Replace)]


def _name_of_the_inside(site: AttributeSite) -> str | None:
    """The variable that surely holds the model inside where an attribute is read."""
    model, line = ast.unparse(site.node.value), site.node.lineno
    for name, values in assignments(site.function).items():
        if len(values) != 1 or "." in name or not _is_inside(values[0], model):
            continue
        statement = next(
            (s for s in site.function.body if isinstance(s, ast.Assign) and s.value is values[0]),
            None,
        ) or _assigned_around(site.function, values[0], line)
        if statement is None or (statement.end_lineno or line) >= line:
            continue
        if not _changes(site.function, {model, name}, statement):
            return name
    return None


def _assigned_around(function: Function, value: ast.expr, line: int) -> ast.Assign | None:
    """The assignment of a value, where it stands in a block that holds the line as well."""
    block = function.body
    while block:
        for statement in block:
            if isinstance(statement, ast.Assign) and statement.value is value:
                return statement
        around = (s for s in block if s.lineno <= line <= (s.end_lineno or s.lineno))
        inner = [b for s in around for b in blocks(s)]
        block = next((b for b in inner if b and b[0].lineno <= line <= (b[-1].end_lineno or 0)), [])
    return None


def _is_inside(value: ast.expr, model: str) -> bool:
    """Whether an expression is the model inside a wrapper, or the model that has none."""
    match value:
        case ast.IfExp(body=one, orelse=other):
            parts = {ast.unparse(one), ast.unparse(other)}
            return parts == {model, f"{model}.module"}
        case ast.Call(args=[first, *_]):
            name = dotted_name(value.func) or f".{last_name(value.func)}"
            return facts.is_unwrap(name) and ast.unparse(first) == model
        case ast.Attribute(attr="module", value=held):
            return ast.unparse(held) == model
    return False


def _changes(function: Function, paths: set[str], since: ast.stmt) -> bool:
    """Whether any of the names or attributes, or what holds them, gets another value behind a statement."""
    roots = paths | {path.partition(".")[0] for path in paths}
    return any(
        isinstance(node.ctx, ast.Store | ast.Del)
        and node.lineno > (since.end_lineno or since.lineno)
        and ast.unparse(node) in roots
        for node in own_nodes(function, ast.Name, ast.Attribute)
    )


def _shared(model: Model, together: list[tuple[AttributeSite, Finding]]) -> dict[int, Fix]:
    """One repair for several reads: the model inside gets a name in front of the first.

    VILA b760c34 llava/train/llava_trainer.py:932: seven reads in one `compute_loss`.
    """
    fixes = [finding.fix for _, finding in together if finding.fix is not None]
    sites = [site for site, _ in together]
    if len(sites) < _SEVERAL and not _of_one_statement(sites):
        return {}
    function = sites[0].function
    receiver = ast.unparse(sites[0].node.value).removesuffix(".module")
    last, text = receiver.rpartition(".")[2], function.module.source.text
    name = next((n for n in (f"unwrapped_{last}", f"inner_{last}") if n not in text), "")
    loaded = _loaded_beside(function, receiver)
    statements = [site.statement for site in sites] + [
        next(s for s in _innermost_first(function) if _holds(s, each)) for each in loaded
    ]
    first = _first_around(function, statements)
    if (
        first is None
        or not receiver.replace(".", "").isidentifier()
        or not name
        or _changes(function, {receiver}, _line_above(first))
        or _may_be_none(function, receiver)
    ):
        return {}
    spans = {edit.span for fix in fixes for edit in _replaced(fix)}
    spans |= {span_of(node) for node in _read_beside(model, sites, first)}
    edits: tuple[Edit, ...] = (
        Insert(span_of(first), f"{name} = $unwrap({receiver})"),
        *(Replace(span, name) for span in sorted(spans, key=lambda s: (s.line, s.column))),
    )
    safe = all(fix.applicability is Applicability.SAFE for fix in fixes)
    fix = Fix(
        Applicability.SAFE if safe else Applicability.UNSAFE,
        f"Unwrap `{receiver}` once, and read from the model inside",
        edits,
    )
    return {id(finding): fix for _, finding in together}


def _of_one_statement(sites: list[AttributeSite]) -> bool:
    """Whether all of several reads stand in one expression: `model.resize(model.peft_config["default"].sizes)`."""
    return len({site.node.lineno for site in sites}) == 1 < len({id(site.node) for site in sites})


def _innermost_first(function: Function) -> list[ast.stmt]:
    """The statements of a function, those in a block in front of the one that holds it."""
    found = [node for node in own_nodes(function) if isinstance(node, ast.stmt)]
    return sorted(found, key=lambda s: (s.end_lineno or s.lineno) - s.lineno)


def _line_above(statement: ast.stmt) -> ast.stmt:
    """A statement that ends where another begins: what the other does itself counts as behind it."""
    return ast.Pass(lineno=statement.lineno - 1, end_lineno=statement.lineno - 1)


def _first_around(function: Function, statements: list[ast.stmt]) -> ast.stmt | None:
    """The statement before which a name is known in all of the statements."""
    block = function.body
    while True:
        holding = [next((s for s in block if _holds(s, each)), None) for each in statements]
        if None in holding:
            return None
        first = min((s for s in holding if s is not None), key=lambda s: s.lineno)
        if any(s is not first for s in holding):
            return first
        inner = [
            part
            for part in blocks(first)
            if all(any(_holds(s, each) for s in part) for each in statements)
            and not _is_elif(first, part)
        ]
        if not inner:
            return first
        block = inner[0]


def _is_elif(statement: ast.stmt, block: list[ast.stmt]) -> bool:
    """Whether a block is written as `elif`, in front of which nothing can stand."""
    return (
        isinstance(statement, ast.If)
        and block is statement.orelse
        and isinstance(block[0], ast.If)
        and block[0].col_offset == statement.col_offset
    )


def _may_be_none(function: Function, receiver: str) -> bool:
    """Whether the function asks if there is a model at all: of None nothing can be unwrapped."""
    return any(
        ast.unparse(node.left) == receiver
        and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        for node in own_nodes(function, ast.Compare)
    )


def _read_beside(model: Model, sites: list[AttributeSite], first: ast.stmt) -> list[ast.expr]:
    """The model in other reads of the function that fail like those which are found, and run no layer."""
    site = sites[0]
    receiver = ast.unparse(site.node.value)
    found = []
    for statement in own_nodes(site.function):
        if not isinstance(statement, ast.stmt) or statement.lineno < first.lineno:
            continue
        for node in _own_expressions(statement):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and ast.unparse(node.value) == receiver
                and layer_without(site.receiver.wraps, node.attr, frozenset()) is not None
                and not may_run_forward(model, statement, node)
            ):
                found.append(node.value)
    return found


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of the statements in it."""
    for child in children(statement):
        if not isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from walk(child)


_SEVERAL = 3
"""From so many reads on, one line that unwraps is shorter than as many calls."""


def _trains_nothing(module: Module) -> bool:
    """Whether a file is a script without a word of training: what it starts computes, or writes.

    fairseq 0.12.2 examples/wav2vec/vq-wav2vec_featurize.py:150: the other reads of the function stand in `no_grad()`.
    """
    return module.is_script and not _OF_TRAINING.search(module.source.text)


def _asked_beside(site: AttributeSite, receiver: str) -> list[ast.expr]:
    """The wrapper in `hasattr(model, "name")` of the same test: it has none of the model's names either.

    trlx 3340c2f trlx/trainer/accelerate_ppo_trainer.py:74: `hasattr(self.model, "frozen_head")` is false on DDP.
    """
    return [
        asked
        for node in walk(getattr(site.statement, "test", site.node))
        for asked in _asked(node)
        if ast.unparse(asked) == receiver
    ]


def _asked(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="hasattr"), args=[asked, ast.Constant(value=name)]):
            return [asked] if name not in _OF_WRAPPERS else []
    return []


def _engine_before(model: Model, site: AttributeSite) -> bool:
    """Whether the code calls what an engine alone has, right before it reads: what is read is the engine's own, too.

    InternVideo 3965eef InternVideo1/Pretrain/ViCLIP/tasks/shared_utils.py:190: `model.load_checkpoint(...)`, then
    `model.global_steps`; the bare model has neither.
    """
    receiver = ast.unparse(site.node.value)
    block = block_with(site.function, site.statement) or []
    above = block[: block.index(site.statement)] if site.statement in block else []
    asked = {
        node.func.attr
        for statement in above
        for node in walk(statement, ast.Call)
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == receiver
    }
    own = {"load_checkpoint", "save_checkpoint"} & asked  # deepspeed 0.19.8 runtime/engine.py
    return bool(own) and not any(
        own & cls.methods.keys()
        for module in model.program.modules.values()
        for cls in module.all_classes
    )


def _loaded_beside(function: Function, receiver: str) -> list[ast.expr]:
    """The wrapper in what loads a state into it with names that may differ, and in reads of its state beside.

    DCNv4 4b848f7 classification/utils.py:219: `model.head` raised on DDP. Read from inside, the function would come
    to `model.load_state_dict(state, strict=False)`, which finds no name that begins with `module.` and loads nothing.
    """
    calls = [
        node
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in ("load_state_dict", "state_dict")
        and ast.unparse(node.func.value) == receiver
    ]
    loose = any(
        keyword.arg == "strict"
        and isinstance(keyword.value, ast.Constant)
        and not keyword.value.value
        for call in calls
        for keyword in call.keywords
    )
    owners = [call.func.value for call in calls if isinstance(call.func, ast.Attribute)]
    return owners if loose else []


def _names_its_own_reading(site: AttributeSite, receiver: str) -> bool:
    """`getattr(model, model.base_model_prefix)`: what is read by that name is not on the wrapper either."""
    return any(
        isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and site.node in node.args[1:]
        and ast.unparse(node.args[0]) == receiver
        for node in walk(site.statement, ast.Call)
    )


def _freezes(model: Model, site: AttributeSite) -> bool:
    """Whether a statement changes which parameters are trained."""
    for node in walk(site.statement, ast.Call, ast.Assign):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) as function):
                inside = _holds(function, site.node)
                if inside and (name == "requires_grad_" or name in model.answer(freezers)):
                    return True
            case ast.Assign(targets=[ast.Attribute(attr="requires_grad") as target]):
                if _holds(target, site.node):
                    return True
    return False


def _draws(model: Model, site: AttributeSite) -> bool:
    """Whether a statement calls a method that draws the weights anew, which DDP has sent to all ranks in its constructor.

    SparseTransformers adffc67 train_llama.py:131: `model.init_weights()` below the wrap, with a seed of each rank's own.
    """
    match site.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) as called)):
            return called is site.node and name in model.answer(drawers)
    return False


def drawers(live: LiveProgram) -> frozenset[str]:
    """The names of methods of the program that draw weights, by themselves or by a method that they name."""
    methods = [
        (name, {node.attr for node in walk(method.node, ast.Attribute)})
        for module in live.program.modules.values()
        for cls in module.all_classes
        for name, method in cls.methods.items()
        if not name.startswith("__") and name != "forward"
    ]
    found = frozenset(name for name, named in methods if any(map(_DRAWS.fullmatch, named)))
    return found | {name for name, named in methods if not found.isdisjoint(named)}


def freezers(live: LiveProgram) -> frozenset[str]:
    """The names of methods of the program that change which parameters are trained."""
    return frozenset(
        name
        for module in live.program.modules.values()
        for cls in module.all_classes
        for name, method in cls.methods.items()
        if not name.startswith("__") and _sets_requires_grad(method)
    )


def _sets_requires_grad(method: Function) -> bool:
    return any(
        (
            node.attr == "requires_grad_"
            or (node.attr == "requires_grad" and isinstance(node.ctx, ast.Store))
        )
        for node in walk(method.node, ast.Attribute)
    )


def _before_the_wrap(site: AttributeSite) -> Move | None:
    """The statement, in front of the one that wraps, where both stand in one block and nothing hinders."""
    wrap, statement = site.receiver.wraps[-1], site.statement
    if wrap.module is not site.module or not isinstance(statement, ast.Expr):
        return None
    block = block_with(site.function, statement)
    if block is None:
        return None
    index = block.index(statement)
    wrapping = next((s for s in block[:index] if _holds(s, wrap.node)), None)
    if wrapping is None or not isinstance(wrapping, ast.Assign):
        return None
    between = block[block.index(wrapping) + 1 : index]
    if any("requires_grad" in ast.unparse(s) and not _freezing(s) for s in between):
        # kohya-ss/sd-scripts train_textual_inversion_XTI.py:352: `requires_grad_(True)` on all, first.
        return None
    read = {n.id for n in walk(statement, ast.Name)}
    if read & names_bound_in(between) or not _same_object(wrapping, site, wrap.node):
        return None
    return Move(span_of(statement), span_of(wrapping))


def _freezing(statement: ast.stmt) -> bool:
    """Whether a statement is `….requires_grad_(False)`."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(attr="requires_grad_"), args=[ast.Constant(value=False)]
            )
        ):
            return True
    return False


def _same_object(wrapping: ast.Assign, site: AttributeSite, call: ast.AST) -> bool:
    """Whether the model has the same name in front of the wrap and behind it: `model = DDP(model)`."""
    name = ast.unparse(site.node.value)
    targets = {ast.unparse(part) for target in wrapping.targets for part in _parts(target)}
    return name in targets and any(
        ast.unparse(part) == name for part in walk(call, ast.Name, ast.Attribute)
    )


def _parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return any(part is node for part in walk(outer))


def asked_for_its_class(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether an expression stands in `isinstance(...)` or `type(...)`: there the wrapper itself is asked for."""
    parents = parents_in(statement)
    parent = parents.get(id(node))
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id in ("isinstance", "type")
    )
