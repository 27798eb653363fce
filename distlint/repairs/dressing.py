"""How an edit's `$name(...)` is written: as the runtime's call, or with what the code at the place has.

One table says which native code does what a function of the runtime does, and what it takes. A variable of
the file that holds a rank, or a test of rank 0 in use, is taken over in every style.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.places import span_of
from distlint.columns import segment
from distlint.edits import Delete, Edit, Insert, Move, Replace, Span, WrapInWith
from distlint.findings import Applicability, Finding, Fix
from distlint.knowledge.versions import SINCE
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.repairs.asking_all import asked_of_all
from distlint.repairs.blocks import block_with
from distlint.repairs.ending import ends_program
from distlint.repairs.group import group_at
from distlint.repairs.group_flow import Group, negated
from distlint.repairs.guarding import LEAVES, statement_on_main
from distlint.repairs.leftover import used_twin
from distlint.repairs.meeting import NEED_ALL, hindrance, next_meeting
from distlint.repairs.scope import Scope, scope_at, visible_imports
from distlint.repairs.ways_inside import way_inside

RUNTIME, NATIVE = "runtime", "native"

_MEETINGS: Final = frozenset(
    {"all_ranks", "any_rank", "barrier", "main_process_first", "run_on_main", "save"}
)
"""Functions of the runtime that do nothing between ranks before there is a group."""
_STOPS: Final = {"breakpoint"}
"""What has no native form: left over, it is taken out."""

_RANKS: Final = (
    ("$rank_info().rank == 0", "main"),
    ("$rank_info().world_size", "world_size"),
    ("$rank_info().local_rank", "local_rank"),
    ("$rank_info().rank", "rank"),
)
"""What `rank_info()` is asked, and the field of `Scope` that answers the same."""

_NO_FORM: Final = (
    "needs distlint where the code runs: declare it in the project's dependencies, or add "
    "`--vendor PATH` to `distlint fix --apply`"
)
_TOO_EARLY: Final = (
    "make the process group first: before it, each process takes itself for the only one"
)

_SHARDING: Final = pattern("fsdp|fully_?shard|deepspeed|zero.?3|accelerat|tensor_parallel", re.I)
"""Words of files in which the state of a model may be in pieces, so that one rank cannot save it alone."""

_NAME: Final = pattern(r"\$([A-Za-z_]\w*)")
_OF_LIBRARIES: Final = pattern(r"(?<![$\w])[A-Za-z_]\w*")
_MARK: Final = "distlint_runtime_"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an edit goes, and what the code there can name."""

    model: Model
    module: Module
    function: Function
    scope: Scope
    line: int

    @property
    def text(self) -> str:
        return self.module.source.text


@dataclass(frozen=True, slots=True)
class _Form:
    """Code that does what a call of the runtime does: fields of `Scope`, and arguments by number.

    `fits` says of the arguments whether it does.
    """

    text: str
    arguments: int = 1
    fits: Callable[[_Place, list[str]], bool] = lambda _place, _arguments: True

    def written(self, place: _Place, arguments: list[str]) -> str | None:
        """The code; None where the place lacks something."""
        if len(arguments) != self.arguments or not self.fits(place, arguments):
            return None
        fields = {name: getattr(place.scope, name) for name in Scope.__dataclass_fields__}
        if any(f"{{{name}}}" in self.text and not value for name, value in fields.items()):
            return None
        return self.text.format(*arguments, **fields)


@dataclass(frozen=True, slots=True)
class _OwnWayInside:
    """What the file itself unwraps with."""

    def written(self, place: _Place, arguments: list[str]) -> str | None:
        """The code; None where the file has none."""
        if len(arguments) != 1:
            return None
        return way_inside(place.model, place.function, place.line, arguments[0]) or None


def _has_torch(place: _Place) -> bool:
    return visible_imports(place.function, place.line).get("torch") == "torch"


_EXPRESSIONS: Final[dict[str, tuple[_Form | _OwnWayInside, ...]]] = {
    "unwrap": (
        # torch 2.13.0 nn/parallel/distributed.py: what DDP holds; nothing else is around it.
        _Form("{0}.module", fits=lambda place, given: given[0] in place.scope.only_ddp),
        _OwnWayInside(),
        # accelerate 1.15.0 utils/other.py, extract_model_from_parallel.
        _Form("{accelerator}.unwrap_model({0})"),
    ),
    # What every rank answers, in one tensor for all (accelerate 1.15.0 accelerator.py, gather).
    "any_rank": (
        _Form(
            "{accelerator}.gather(torch.tensor([bool({0})], device={accelerator}.device)).any()",
            fits=lambda place, _: _has_torch(place),
        ),
    ),
    "all_ranks": (
        _Form(
            "{accelerator}.gather(torch.tensor([bool({0})], device={accelerator}.device)).all()",
            fits=lambda place, _: _has_torch(place),
        ),
    ),
    "to_device_of": (_Form("{0}.to({1}.device)", 2),),
    "generator": (
        _Form(
            "torch.Generator().manual_seed({0})",
            2,
            lambda place, given: given[1] == "per_rank=False" and _has_torch(place),
        ),
    ),
}
"""Forms for calls that stand in an expression, the first that fits is taken."""


def dressed(model: Model, finding: Finding, style: str) -> Finding:
    """The finding with its fix as the place and the style want it.

    Args:
        model: the project in which it was found.
        finding: it, with edits that name functions of the runtime.
        style: `runtime` or `native`.

    Returns:
        The same finding where its edits name none. Its fix is only shown where the group comes later than
        the code that needs it, where not all ranks meet, and where native code would have to do what it cannot.
    """
    fix = finding.fix
    if fix is None or not fix.elsewhere:
        return _dressed_in_one(model, finding, style)
    alone = replace(fix, elsewhere=())
    made = _dressed_in_one(model, replace(finding, fix=alone), style)
    more: list[tuple[str, tuple[Edit, ...]]] = []
    for path, edits in fix.elsewhere:
        part = _dressed_in_one(
            model, replace(finding, fix=replace(alone, path=path, edits=edits)), style
        ).fix
        if part is None or not part.edits:
            return _with_fix(finding, part or Fix(Applicability.DISPLAY, fix.message))
        more.append((path, part.edits))
    if made.fix is None or not made.fix.edits:
        return made
    return replace(made, fix=replace(made.fix, elsewhere=tuple(more)))


def _dressed_in_one(model: Model, finding: Finding, style: str) -> Finding:
    """The finding with a fix of one file as the place and the style want it."""
    fix = finding.fix
    module = _module(model, finding.fixed_path)
    if fix is None or module is None or not fix.edits:
        return finding
    if twin := used_twin(model.program, module):
        unused = f"this looks like a copy of {twin.path} that nothing imports"
        return _with_fix(finding, Fix(Applicability.DISPLAY, f"{fix.message}; {unused}"))
    return _in_old_versions(model, module, _in_style(model, module, finding, fix, style))


def _in_style(model: Model, module: Module, finding: Finding, fix: Fix, style: str) -> Finding:
    if not any(_names(edit) for edit in fix.edits):
        return finding
    if any(_is_too_early(model, module, edit) for edit in fix.edits):
        return _with_fix(finding, Fix(Applicability.DISPLAY, f"{fix.message}; {_TOO_EARLY}"))
    if parted := _parted(model, module, fix):
        return _with_fix(finding, Fix(Applicability.DISPLAY, f"{fix.message}; {parted}"))
    edits: list[Edit] = []
    message, applicability = fix.message, fix.applicability
    for edit in fix.edits:
        if not _names(edit):
            edits.append(edit)
            continue
        place = _place(model, module, _first(edit), style)
        asked = _with_ranks(edit, place)
        if place.scope.of_launcher and place.scope.local_rank in _code(asked):
            applicability = _no_safer(applicability)  # who starts it otherwise has 0 on each rank
        made = _with_own_barrier(_with_own_unwrap(asked, place), place)
        if isinstance(made, Insert) and made.code == _waits(place.scope):
            message = message.replace("`barrier()`", f"`{place.scope.barrier}`")
        made = _under_the_next_guard(made, place) or made
        own = _of_accelerator(made, place)
        if own is not None:
            said, more = own
            message = said
            edits += more
            continue
        if style == NATIVE and _names(made):
            native = _native(made, place)
            if native is None:
                return _with_fix(
                    finding, Fix(Applicability.DISPLAY, f"{fix.message}; it {_NO_FORM}")
                )
            said, more = native
            message = said or message
            edits += more
            if _names(made) == _STOPS:
                applicability = _no_safer(applicability)  # who debugs misses it
        else:
            edits.append(made)
    made_of = replace(fix, applicability=applicability, message=message, edits=tuple(edits))
    return _with_fix(finding, made_of)


def _no_safer(applicability: Applicability) -> Applicability:
    return Applicability.UNSAFE if applicability is Applicability.SAFE else applicability


def _with_fix(finding: Finding, fix: Fix) -> Finding:
    message = finding.message
    if finding.fix is not None and fix.edits:
        message = message.replace(finding.fix.message, fix.message)
    return replace(finding, message=message, fix=fix)


def _in_old_versions(model: Model, module: Module, finding: Finding) -> Finding:
    """The finding, its fix only shown where a package that the project asks for lacks what it writes.

    LoRA c4593f0 examples/NLU/environment.yml: accelerate 0.3.0, older than `gather_for_metrics`.
    """
    fix = finding.fix
    if fix is None:
        return finding
    written = {name for edit in fix.edits for name in _OF_LIBRARIES.findall(_code(edit))}
    for since in SINCE:
        if (
            since.name in written
            and not re.search(rf"\b{since.name}\b", module.source.text)
            and model.launch.older_than(since.package, since.version, module.path)
        ):
            first = f"{since.package} {'.'.join(map(str, since.version))}"
            needs = f"{first} or later, the project asks for an older one"
            return _with_fix(
                finding, Fix(Applicability.DISPLAY, f"{fix.message}; it needs {needs}")
            )
    return finding


# Places


def _module(model: Model, path: str) -> Module | None:
    return next((each for each in model.program.modules.values() if each.path == path), None)


def _place(model: Model, module: Module, span: Span, style: str) -> _Place:
    function = _function_at(module, span)
    scope = scope_at(model, function, span.line, with_group=style == NATIVE)
    return _Place(model, module, function, scope, span.line)


def _function_at(module: Module, span: Span) -> Function:
    """The innermost function whose body holds a place: defaults and decorators belong to the one around."""
    around = [
        function
        for function in module.all_functions
        if not isinstance(function.node, ast.Lambda | ast.Module)
        and function.node.lineno <= span.line <= (function.node.end_lineno or 0)
        and _start(function.body[0]) <= (span.line, span.column)
    ]
    return max(around, key=lambda each: _start(each.node), default=module.body)


def _start(node: ast.AST) -> tuple[int, int]:
    return int(getattr(node, "lineno", 0)), int(getattr(node, "col_offset", 0))


def _is_too_early(model: Model, module: Module, edit: Edit) -> bool:
    if not _names(edit) & _MEETINGS:
        return False
    line = _first(edit).line
    function = _function_at(module, _first(edit))
    return group_at(model, function, line) is Group.LATER


def _parted(model: Model, module: Module, fix: Fix) -> str:
    """Why the new collectives of a fix may not be reached by all ranks at once; empty where nothing shows it."""
    for edit in fix.edits:
        if _names(edit) & NEED_ALL:
            function = _function_at(module, _first(edit))
            if reason := hindrance(model, function, _whole(edit)):
                return f"that needs all ranks at once, and {reason}"
    return ""


# Edits


def _whole(edit: Edit) -> Span:
    """The lines that an edit changes."""
    first = _first(edit)
    if isinstance(edit, WrapInWith):
        return replace(first, end_line=edit.last.end_line)
    return first


def _first(edit: Edit) -> Span:
    match edit:
        case WrapInWith(first=first):
            return first
        case Replace(span=span) | Insert(span=span):
            return span
    raise AssertionError("an edit without code has no place to dress")


def _code(edit: Edit) -> str:
    match edit:
        case WrapInWith(header=code) | Replace(code=code) | Insert(code=code):
            return code
    return ""


def _names(edit: Edit) -> set[str]:
    """The functions of the runtime that an edit names."""
    return set(_NAME.findall(_code(edit)))


def _with_code(edit: Edit, code: str) -> Edit:
    match edit:
        case WrapInWith():
            return replace(edit, header=code)
        case Replace() | Insert():
            return replace(edit, code=code)
    return edit


def _with_ranks(edit: Edit, place: _Place) -> Edit:
    """The edit with what the place has for each question to `rank_info()`."""
    code = _code(edit)
    for asked, field in _RANKS:
        if asked in code and (answer := getattr(place.scope, field)):
            code = code.replace(f"{{{asked}}}", f"{{{_within(code, answer)}}}")
            code = code.replace(asked, answer)
    return _with_code(edit, code)


def _within(template: str, code: str) -> str:
    """Code as it may stand in an f-string: before Python 3.12 not with the same quotes."""
    quote = '"' if template.endswith('"') else "'"
    other = "'" if quote == '"' else '"'
    return code.replace(quote, other) if other not in code else code


def _under_the_next_guard(edit: Edit, place: _Place) -> Move | None:
    """A statement that gets a guard of its own goes under that of the next one, where it is the same.

    open-instruct open_instruct/finetune.py:986: `if accelerator.is_main_process:` follows the marker's write.
    """
    statement = _statement(place, edit.span) if isinstance(edit, Replace) else None
    test = re.match(r"if ([^\n]+):\n    ", _code(edit))
    if statement is None or test is None or isinstance(statement, ast.If):
        return None
    block = block_with(place.function, statement) or [statement]
    match block[block.index(statement) + 1 :]:
        case [ast.If(test=asked, orelse=[]) as guard, *_] if ast.unparse(asked) == test[1]:
            return Move(span_of(statement), span_of(guard.body[0]))
    return None


def _with_own_unwrap(edit: Edit, place: _Place) -> Edit:
    """The edit with the way into a wrapper that the code at the place has, where it shows which one it is."""
    if not isinstance(edit, Replace | Insert) or _names(edit) != {"unwrap"}:
        return edit
    shown = replace(place, scope=replace(place.scope, only_ddp=place.scope.known_ddp))
    return replace(edit, code=_expression(edit.code, shown) or edit.code)


def _with_own_barrier(edit: Edit, place: _Place) -> Edit:
    """The edit with the barrier of the accelerator or trainer at the place: PixArt-sigma, train_pixart_lora_hf.py:1014."""
    if isinstance(edit, Insert) and edit.code == "$barrier()" and place.scope.barrier:
        return replace(edit, code=_waits(place.scope))
    return edit


def _waits(scope: Scope, test: str = "") -> str:
    """The statement in which all ranks for which a test holds wait for each other."""
    tests = " and ".join(_in_and(each) for each in (scope.barrier_if, test) if each)
    return f"if {tests}:\n    {scope.barrier}" if tests else scope.barrier


def _in_and(test: str) -> str:
    """A test as an arm of `and`."""
    body = ast.parse(test, mode="eval").body
    loose = isinstance(body, ast.IfExp | ast.Lambda | ast.NamedExpr) or (
        isinstance(body, ast.BoolOp) and isinstance(body.op, ast.Or)
    )
    return f"({test})" if loose else test


def _of_accelerator(edit: Edit, place: _Place) -> tuple[str, tuple[Edit, ...]] | None:
    """What the edit becomes with the accelerator or trainer at the place, as its users write it, in every style.

    Otter 1e7eb9a pipeline/train/train_utils.py:241: `is_main_process` is a variable of the function.
    """
    match edit:
        case Replace() if _names(edit) == {"run_on_main"}:
            return _on_main(edit, place)
        case WrapInWith() if _names(edit) == {"main_process_first"} and place.scope.accelerator:
            return _in_turn(edit, place)
    return None


def _native(edit: Edit, place: _Place) -> tuple[str, tuple[Edit, ...]] | None:
    """What the edit becomes without the runtime, with words for it; None where the place lacks something."""
    names = _names(edit)
    match edit:
        case WrapInWith() if names == {"main_process_first"}:
            return _in_turn(edit, place)
        case Replace() | Insert() if names <= _EXPRESSIONS.keys():
            code = _expression(edit.code, place)
            if code is not None:
                return "", (replace(edit, code=code),)
            if names <= {"any_rank", "all_ranks"} and (group := _group(place, edit)):
                asked = asked_of_all(place.model, place.function, edit, group)
                return None if asked is None else ("", asked)
        case Replace() if names in ({"run_on_main"}, {"save"}):
            return _on_main(edit, place)
        case Replace() if names == _STOPS:
            left = _statement(place, edit.span)
            return None if left is None else ("Take it out", (Delete(span_of(left), prune=True),))
    return None


def _group(place: _Place, edit: Edit) -> str:
    """`torch.distributed`, as the place knows it, where the group is there, or what follows raises without it."""
    if place.scope.distributed:
        return place.scope.distributed
    match next_meeting(place.model, place.function, _whole(edit)):
        case ast.Call(func=ast.Attribute(value=owner)):
            known = place.model.resolve(place.function.module, owner) == "torch.distributed"
            return ast.unparse(owner) if known else ""
    return ""


def _expression(code: str, place: _Place) -> str | None:
    """The code with a form in place of each call of the runtime, from the inside out."""
    while _NAME.search(code):
        text = _NAME.sub(rf"{_MARK}\1", code)
        call = _innermost(text)
        if call is None:
            return None
        given = [segment(text, part) for part in (*call.args, *call.keywords)]
        function = ast.unparse(call.func).removeprefix(_MARK)
        forms = _EXPRESSIONS.get(function, ())
        written = next((w for form in forms if (w := form.written(place, given)) is not None), None)
        if written is None:
            return None
        code = text.replace(segment(text, call), written).replace(_MARK, "$")
    return code


def _innermost(text: str) -> ast.Call | None:
    """A call of the runtime that holds no other."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    calls = [
        node
        for node in walk(tree, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id.startswith(_MARK)
    ]
    return next((c for c in calls if not any(o is not c and o in walk(c) for o in calls)), None)


def _on_main(edit: Replace, place: _Place) -> tuple[str, tuple[Edit, ...]] | None:
    """`run_on_main(f, a)`: `if main: f(a)`, and all wait for it."""
    scope = place.scope
    statement = _statement(place, edit.span)
    if not isinstance(statement, ast.Expr) or span_of(statement.value) != edit.span:
        return None
    if not scope.main or _is_in_pieces(edit, place, statement):
        return None
    guarded = statement_on_main(place.text, statement, scope.main)
    if guarded is None:
        return None
    if ends_program(place.model, place.function, statement):
        return f"Write on rank 0 alone: `if {scope.main}:`", (guarded,)
    if not scope.barrier:
        return None
    wait = _waits(scope)
    waits = "" if _is_followed_by(place, statement, wait) else f"\n{wait}"
    said = f"Write on rank 0 while the others wait: `if {scope.main}:`, then `{scope.barrier}`"
    return said, (replace(guarded, code=f"{guarded.code}{waits}"),)


def _is_followed_by(place: _Place, statement: ast.stmt, code: str) -> bool:
    """Whether `code` is the next statement that runs, here or behind the loops whose last statement this is."""
    block = block_with(place.function, statement) or [statement]
    following = block[block.index(statement) + 1 :]
    if following:
        return ast.unparse(following[0]) == code
    around = next(
        (s for s in _statements(place) if isinstance(s, ast.For | ast.While) and s.body is block),
        None,
    )
    return around is not None and not around.orelse and _is_followed_by(place, around, code)


def _is_in_pieces(edit: Replace, place: _Place, statement: ast.stmt) -> bool:
    """Whether a state may be in pieces that `save()` puts together, and one rank alone would wait for."""
    return (
        "$save" in edit.code
        and "state_dict" in ast.unparse(statement)
        and _SHARDING.search(place.text) is not None
    )


def _in_turn(edit: WrapInWith, place: _Place) -> tuple[str, tuple[Edit, ...]] | None:
    """`with main_process_first():`: accelerate's, or a barrier on either side."""
    scope = place.scope
    local = "local=True" in edit.header
    who = "the first rank of each machine" if local else "rank 0"
    if scope.accelerator:
        header = f"{scope.accelerator}.{'local_' if local else ''}main_process_first()"
        return f"Let {who} go first: `{header}`", (replace(edit, header=header),)
    first = (f"{scope.local_rank} == 0" if scope.local_rank else "") if local else scope.main
    held = [s for s in _statements(place) if _is_between(span_of(s), edit)]
    leaves = any(isinstance(node, LEAVES) for s in held for node in walk(s))
    if not first or not scope.barrier or leaves:
        return None
    if scope.barrier_if:
        first = first.removeprefix(f"{negated(scope.barrier_if)} or ")
    before = Insert(edit.first, _waits(scope, negated(first)))
    after = Insert(edit.last, _waits(scope, first), after=True)
    return f"Let {who} go first, and the others wait in `{scope.barrier}`", (before, after)


def _statements(place: _Place) -> Iterator[ast.stmt]:
    return (node for node in walk(place.function.node) if isinstance(node, ast.stmt))


def _is_between(span: Span, edit: WrapInWith) -> bool:
    return (edit.first.line, edit.first.column) <= (span.line, span.column) and (
        (span.end_line, span.end_column) <= (edit.last.end_line, edit.last.end_column)
    )


def _statement(place: _Place, span: Span) -> ast.stmt | None:
    """The statement that a span covers."""
    return next((s for s in _statements(place) if span_of(s) == span), None)
