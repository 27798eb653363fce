"""Carries out fixes on one file: bytes in, bytes out, with what became of every fix.

This module and those that only it imports load LibCST; a caller imports it when there is something
to fix.

What holds for every result, and is checked before it is returned: it parses, and every comment of
the file is still there. What follows from working on LibCST's lossless tree, and is tested: bytes
outside the edited lines are kept, with the encoding, the byte order mark and all line ends.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import cast

import libcst as cst

from distlint.edits import (
    AddImport,
    Delete,
    Edit,
    Insert,
    Move,
    Replace,
    Span,
    WrapInWith,
)
from distlint.fixing.aligning import aligned
from distlint.fixing.importing import plan_imports
from distlint.fixing.locating import (
    Range,
    Refused,
    Statement,
    Tree,
    comments_in,
    statements_of,
)
from distlint.fixing.naming import Names, Needed, choose_name
from distlint.fixing.pieces import Pieces, StatementLine, plain_names, runtime_names
from distlint.fixing.reproducing import FileText, fault, first_line, parsed, read_file
from distlint.fixing.requests import FixRequest, FixResult, SkipKind, SkippedFix
from distlint.fixing.rewriting import Moved, Plan, Vanishing, Wrap, rewrite
from distlint.records import dataclass

RUNTIME_MODULE = "distlint.runtime"
_NARROW = 79
"""The length of a line that every formatter accepts."""
_UNWALKABLE = "LibCST cannot walk over the code: write `or (...)` and `not (...)` with a space"
"""LibCST 1.9.0 libcst/_nodes/expression.py, `_safe_to_use_with_word_operator`, of what stands in parentheses
directly behind or before a word: of `Lambda` it raises TypeError (`super()` of a class that a decorator has
replaced), of `IfExp` it does not see the parentheses."""


def apply_fixes(
    data: bytes, fixes: Sequence[FixRequest], *, runtime_module: str = RUNTIME_MODULE
) -> FixResult:
    """Applies the fixes of one file that go together, each with all of its edits or none.

    `data` is the file as it was read and as the findings' spans describe it. Fixes get their turn
    by (line, column, code); one that touches what an earlier one changes is skipped as a conflict,
    for the caller to look at the new text again. Equal fixes count as applied together. The order
    of `fixes` does not matter, and the same input gives the same bytes.

    `runtime_module` is where `$name` in edits is imported from.

    Never raises for what is in `data` or `fixes`: what cannot be done is in the result.
    """
    ordered = sorted(fixes, key=lambda fix: (fix.key, repr(fix.edits)))
    if not ordered:
        return FixResult(data, (), ())
    (result,) = _apply_groups(data, [ordered], runtime_module)
    return result


def apply_each(
    data: bytes, fixes: Sequence[FixRequest], *, runtime_module: str = RUNTIME_MODULE
) -> list[FixResult]:
    """What `apply_fixes` makes of each of `fixes` alone, in their order; the file is parsed once."""
    return _apply_groups(data, [[fix] for fix in fixes], runtime_module)


def _apply_groups(
    data: bytes, groups: Sequence[Sequence[FixRequest]], runtime_module: str
) -> list[FixResult]:
    """What becomes of the file when the fixes of one group, and of no other, are applied."""
    try:
        file = read_file(data)
        parsed_file = _Parsed(file)
    except (Refused, RecursionError, TypeError) as error:
        return [_refused(data, group, error) for group in groups]
    results = []
    for group in groups:
        try:
            results.append(_File(parsed_file, group, runtime_module).fixed(data))
        except (Refused, RecursionError, TypeError) as error:
            results.append(_refused(data, group, error))
    return results


def _refused(data: bytes, fixes: Sequence[FixRequest], error: Exception) -> FixResult:
    """The result where nothing can be done: each fix with the sentence why."""
    match error:
        case Refused():
            reason = str(error)
        case RecursionError():
            reason = "the code is nested too deeply to be edited"
        case _:
            reason = _UNWALKABLE
    skipped = tuple(SkippedFix(fix, SkipKind.REFUSED, reason) for fix in fixes)
    return FixResult(data, (), skipped, refusal=reason)


class _Parsed:
    """A file as text and as trees, which no edit changes, and what is the same for all fixes of it."""

    def __init__(self, file: FileText) -> None:
        self.file = file
        self.tree = Tree(file.module, file.text, file.shifts)
        self.ast = parsed(file.original)
        self.names = Names(self.ast)
        self.comments = _comments(file.original)
        parts = _parts(self.tree.module)
        self._codes = {id(part): file.module.code_for_node(part) for part in parts}
        self._comments: dict[int, Counter[str]] = {}
        written = "".join(self._codes[id(part)] for part in parts)
        self._in_parts = written == file.text == file.original

    def code(self, module: cst.Module) -> str:
        """The text of an edited form of the file; parts that are as they were are not written again."""
        if not self._in_parts:
            return self.file.restored(module.code)
        codes = (self._codes.get(id(part)) for part in _parts(module))
        return "".join(
            module.code_for_node(part) if code is None else code
            for part, code in zip(_parts(module), codes, strict=True)
        )

    def comments_of(self, module: cst.Module, text: str) -> Counter[str]:
        """The comments of an edited form of the file, whose text parses."""
        if not self._in_parts:
            return _comments(text)
        found: Counter[str] = Counter()
        for part in _parts(module):
            code = self._codes.get(id(part))
            if code is None:
                found += _comments(module.code_for_node(part))
            elif "#" in code:
                if id(part) not in self._comments:
                    self._comments[id(part)] = _comments(code)
                found.update(self._comments[id(part)])
        return found


def _parts(module: cst.Module) -> list[cst.CSTNode]:
    """The lines and statements that a file consists of."""
    return [*module.header, *module.body, *module.footer]


@dataclass(slots=True)
class _Claims:
    """What a fix needs for itself, in offsets."""

    whole: list[Range] = field(default_factory=list)
    """Changed as a whole: nothing else may touch them or what is in them."""
    anchors: list[Range] = field(default_factory=list)
    """Must stay where they are: statements beside which or around which something is put."""
    gaps: set[tuple[int, int]] = field(default_factory=set)
    """Places between two statements (block, index) that get something."""
    wraps: list[Range] = field(default_factory=list)

    def conflicts(self, other: _Claims) -> bool:
        return (
            any(a.overlaps(b) for a in self.whole for b in other.whole)
            or any(a.contains(b) for a in self.whole for b in other.anchors)
            or any(a.contains(b) for a in other.whole for b in self.anchors)
            or bool(self.gaps & other.gaps)
            or any(_crosses(a, b) for a in self.wraps for b in other.wraps)
        )


def _crosses(a: Range, b: Range) -> bool:
    return a.overlaps(b) and (a == b or not (a.contains(b) or b.contains(a)))


class _File:
    """One file on its way from its bytes to its new bytes."""

    def __init__(self, whole: _Parsed, fixes: Sequence[FixRequest], runtime_module: str) -> None:
        self._file = file = whole.file
        self._fixes = fixes
        self._parsed = whole
        self._tree = whole.tree
        self._ast = whole.ast
        self._names = whole.names
        self._runtime_module = runtime_module
        self._needed: dict[str, Needed] = {}
        self._pieces = Pieces(file.module, self._known_as())

    def fixed(self, data: bytes) -> FixResult:
        accepted: list[tuple[FixRequest, _Claims]] = []
        skipped: list[SkippedFix] = []
        equal: list[FixRequest] = []
        for fix in self._fixes:
            if any(fix.edits == other.edits for other, _ in accepted):
                equal.append(fix)
                continue
            try:
                claims = self._claims(fix)
            except Refused as refused:
                skipped.append(SkippedFix(fix, SkipKind.REFUSED, str(refused)))
                continue
            rival = next((other for other, theirs in accepted if theirs.conflicts(claims)), None)
            if rival is not None:
                reason = f"it overlaps the fix of {rival.code} at line {rival.line}"
                skipped.append(SkippedFix(fix, SkipKind.CONFLICT, reason))
            else:
                accepted.append((fix, claims))
        chosen = [fix for fix, _ in accepted]
        result = self._attempt(chosen)
        if isinstance(result, str):
            chosen, broken = self._without_the_broken(chosen)
            skipped += broken
            result = self._attempt(chosen)
            if isinstance(result, str):  # each works with the ones before it, so this cannot be
                raise Refused(result)
        applied = [*chosen, *(fix for fix in equal if any(fix.edits == f.edits for f in chosen))]
        lost = [fix for fix in equal if not any(fix.edits == f.edits for f in chosen)]
        skipped += [
            SkippedFix(fix, SkipKind.INTERNAL, "the equal fix before it failed") for fix in lost
        ]
        return FixResult(
            data if not applied else result,
            tuple(sorted(applied, key=lambda fix: fix.key)),
            tuple(sorted(skipped, key=lambda skip: skip.fix.key)),
        )

    def _without_the_broken(
        self, fixes: Sequence[FixRequest]
    ) -> tuple[list[FixRequest], list[SkippedFix]]:
        """The fixes that work together, taken one after the other."""
        good: list[FixRequest] = []
        broken: list[SkippedFix] = []
        for fix in fixes:
            result = self._attempt([*good, fix])
            if isinstance(result, str):
                kind = SkipKind.REFUSED if result == _UNWALKABLE else SkipKind.INTERNAL
                broken.append(SkippedFix(fix, kind, result))
            else:
                good.append(fix)
        return good, broken

    def _attempt(self, fixes: Sequence[FixRequest]) -> bytes | str:
        """The new bytes, or why they are no good."""
        if not fixes:
            return self._file.original.encode(self._file.encoding)
        try:
            module = rewrite(self._tree, self._plan(fixes))
            text = aligned(self._file.original, self._parsed.code(module))
        except (cst.CSTValidationError, cst.CSTLogicError, Refused) as error:
            if "at least one space" in str(error):
                return _UNWALKABLE
            return f"the edits do not fit into the code ({first_line(error)})"
        except TypeError:
            return _UNWALKABLE
        try:
            parsed(text)
        except SyntaxError as error:
            return f"the edited file does not parse ({error.msg}, line {error.lineno})"
        if (wrong := fault(text)) and not fault(self._file.original):
            return f"the edited file does not compile ({wrong})"
        if lost := self._parsed.comments - self._parsed.comments_of(module, text):
            return f"the edited file lacks the comment `{next(iter(lost))[:60]}`"
        try:
            return text.encode(self._file.encoding)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            return f"{character!r} of the new code cannot be written in {self._file.encoding}"

    # Names

    def _known_as(self) -> dict[str, str]:
        uses: dict[str, list[Edit]] = {}
        bound: set[str] = set()
        read: set[str] = set()
        for fix in self._fixes:
            for edit in fix.edits:
                if isinstance(edit, AddImport):
                    bound.add(edit.name or edit.module.partition(".")[0])
                    continue
                code = _code_of(edit)
                binds, reads = plain_names(code)
                bound |= binds
                read |= reads
                for name in runtime_names(code):
                    uses.setdefault(name, []).append(edit)
        known: dict[str, str] = {}
        for name, edits in sorted(uses.items()):
            known[name], needed = choose_name(
                self._names,
                self._runtime_module,
                name,
                bound=bound,
                read=read,
                before=min(self._top_index_at(span) for edit in edits for span in _spans(edit)),
                in_class=any(self._in_class_body(edit) for edit in edits),
            )
            if needed is not None:
                self._needed[name] = needed
        return known

    def _top_index_at(self, span: Span) -> int:
        """The index of the statement of the module's body that holds a range."""
        for index, statement in enumerate(self._ast.body):
            if (statement.end_lineno or statement.lineno) >= span.line:
                return index
        return len(self._ast.body)

    def _in_class_body(self, edit: Edit) -> bool:
        for span in _spans(edit):
            try:
                target = self._tree.target(span)
            except Refused:
                continue  # said when the fix itself gets its turn
            for above in self._tree.ancestors(target):
                if isinstance(above, cst.FunctionDef | cst.Lambda):
                    break
                if isinstance(above, cst.ClassDef):
                    return True
        return False

    # Claims

    def _claims(self, fix: FixRequest) -> _Claims:
        """What the fix needs. Raises Refused where an edit of it cannot be carried out."""
        claims = _Claims()
        moved: list[Range] = []
        for edit in fix.edits:
            match edit:
                case Replace():
                    target = self._tree.target(edit.span)
                    self._check_replacement(target, edit.code)
                    self._claim_whole(claims, self._whole(target))
                case Delete():
                    statement = self._tree.statement(edit.span)
                    self._claim_whole(claims, self._whole(statement))
                case Insert():
                    statement = self._tree.statement(edit.span)
                    self._statements(edit.code, statement)
                    claims.anchors.append(self._tree.extent(statement))
                    claims.gaps.add(self._gap(statement, after=edit.after))
                case WrapInWith():
                    first, last = self._tree.statement(edit.first), self._tree.statement(edit.last)
                    self._pieces.with_statement(edit.header)
                    claims.wraps.append(self._stretch(first, last))
                    claims.anchors += [self._tree.extent(first), self._tree.extent(last)]
                case Move():
                    statement = self._tree.statement(edit.span)
                    before = self._tree.statement(edit.before)
                    if self._tree.extent(statement).contains(self._tree.extent(before)):
                        raise Refused("a statement cannot move into itself")
                    moved.append(self._whole(statement))
                    claims.anchors.append(self._tree.extent(before))
                    claims.gaps.add(self._gap(before, after=False))
                case AddImport():
                    self._check_import(edit)
        for place in moved:
            if any(place.overlaps(other) and not place.contains(other) for other in claims.whole):
                raise Refused("its own edits overlap")
        claims.whole += moved
        claims.whole += self._emptied(fix)
        return claims

    def _claim_whole(self, claims: _Claims, place: Range) -> None:
        if any(place.overlaps(other) for other in claims.whole):
            raise Refused("its own edits overlap")
        claims.whole.append(place)

    def _whole(self, node: cst.CSTNode) -> Range:
        """A node with its decorators."""
        place = self._tree.extent(node)
        if isinstance(node, cst.FunctionDef | cst.ClassDef) and node.decorators:
            return Range(self._tree.extent(node.decorators[0]).start, place.end)
        return place

    def _emptied(self, fix: FixRequest) -> list[Range]:
        """The statements above that go because the fix empties them."""
        plan = Plan()
        for edit in fix.edits:
            if isinstance(edit, Delete | Move):
                self._plan_removal(plan, edit)
        vanishing = Vanishing(plan)
        return [
            self._whole(node)
            for node in plan.pruned_above
            if isinstance(node, cst.BaseCompoundStatement) and vanishing.statement(node)
        ]

    def _gap(self, statement: Statement, *, after: bool) -> tuple[int, int]:
        block = self._tree.block_of(statement)
        if isinstance(block, cst.If):
            return (id(statement), int(after))
        return (id(block), statements_of(block).index(statement) + after)

    def _stretch(self, first: Statement, last: Statement) -> Range:
        block = self._tree.block_of(first)
        if block is not self._tree.block_of(last) or (
            isinstance(block, cst.If) and first is not last
        ):
            raise Refused("the first and the last statement to wrap are not of one block")
        start, end = self._whole(first).start, self._tree.extent(last).end
        if start >= end:
            raise Refused("the last statement to wrap stands before the first")
        return Range(start, end)

    def _check_import(self, edit: AddImport) -> None:
        local = edit.name or edit.module.partition(".")[0]
        target = f"{edit.module}.{edit.name}" if edit.name else local
        if not self._names.unused(local, target, in_class=False, read=True):
            raise Refused(f"the file already uses the name `{local}` for something else")

    # Plans

    def _plan(self, fixes: Sequence[FixRequest]) -> Plan:
        plan = Plan()
        needed: list[Needed] = []
        first = len(self._tree.utf8)
        for fix in fixes:
            for edit in fix.edits:
                spans = _spans(edit)
                names: list[str] = []
                if isinstance(edit, AddImport):
                    # Any of the fix's other edits may use it.
                    spans = [span for other in fix.edits for span in _spans(other)]
                    before = min(map(self._top_index_at, spans), default=len(self._ast.body))
                    if self._names.available(edit.module, edit.name, before):
                        continue
                    needed.append(Needed(edit.module, edit.name, edit.name))
                else:
                    names = [n for n in runtime_names(_code_of(edit)) if n in self._needed]
                    needed += [self._needed[name] for name in names]
                    self._plan_edit(plan, edit)
                if names or isinstance(edit, AddImport):
                    first = min([first, *(self._tree.range_of(span).start for span in spans)])
        # An import between statements that go under a `with` would go there too.
        for wrap in plan.wraps:
            if isinstance(self._tree.block_of(wrap.first), cst.Module):
                first = min(first, self._tree.extent(wrap.first).start)
        plan_imports(self._tree, plan, needed, first)
        return plan

    def _plan_edit(self, plan: Plan, edit: Edit) -> None:
        match edit:
            case Replace():
                target = self._tree.target(edit.span)
                self._touch(plan, target)
                if isinstance(target, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                    plan.at(target).new = self._statements(edit.code, target)
                else:
                    self._plan_expression(plan, target, edit.code)
            case Delete() | Move():
                self._plan_removal(plan, edit)
                if isinstance(edit, Move):
                    before = self._tree.statement(edit.before)
                    self._touch(plan, before)
                    plan.at(before).before.append(Moved(self._tree.statement(edit.span)))
            case Insert():
                statement = self._tree.statement(edit.span)
                self._touch(plan, statement)
                planned = plan.at(statement)
                lines = self._statements(edit.code, statement)
                (planned.after if edit.after else planned.before).extend(lines)
            case WrapInWith():
                first, last = self._tree.statement(edit.first), self._tree.statement(edit.last)
                self._touch(plan, first)
                self._touch(plan, last)
                plan.wraps.append(Wrap(first, last, self._pieces.with_statement(edit.header)))

    def _plan_removal(self, plan: Plan, edit: Delete | Move) -> None:
        statement = self._tree.statement(edit.span)
        self._touch(plan, statement)
        planned = plan.at(statement)
        planned.moved = isinstance(edit, Move)
        planned.deleted = not planned.moved
        if edit.prune:
            plan.pruned_above.update(self._tree.ancestors(statement))

    def _plan_expression(self, plan: Plan, target: cst.BaseExpression | cst.Arg, code: str) -> None:
        new = self._replacement(target, code)
        plan.nodes[target] = new
        brought = Counter(comment.value for comment in comments_in(new))
        lost = []
        for comment in comments_in(target):
            if brought[comment.value] > 0:
                brought[comment.value] -= 1
            else:
                lost.append(comment)
        if lost:
            holder = next(n for n in self._tree.ancestors(target) if hasattr(n, "leading_lines"))
            plan.hoisted.setdefault(holder, []).extend(lost)

    def _touch(self, plan: Plan, node: cst.CSTNode) -> None:
        plan.touched.add(node)
        plan.touched.update(self._tree.ancestors(node))

    # Code

    def _statements(self, code: str, beside: Statement) -> list[StatementLine]:
        block = self._tree.block_of(beside)
        indent = block.indent if isinstance(block, cst.IndentedBlock) else None
        return self._pieces.statements(code, indent, self._margin(beside))

    def _check_replacement(self, target: cst.CSTNode, code: str) -> None:
        if isinstance(target, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self._statements(code, target)
        else:
            assert isinstance(target, cst.BaseExpression | cst.Arg)
            self._replacement(target, code)

    def _replacement(self, target: cst.BaseExpression | cst.Arg, code: str) -> cst.CSTNode:
        """The node for `code`, in parentheses where it needs them. Raises Refused."""
        margin = self._margin(target)
        if isinstance(target, cst.Arg):
            return self._pieces.argument(code, margin).with_changes(
                comma=target.comma, whitespace_after_arg=target.whitespace_after_arg
            )
        new = self._pieces.expression(code, margin)
        outer = self._outermost(target)
        self._check_string(target, new)
        left, right = list(target.lpar), list(target.rpar)
        if isinstance(target, cst.Tuple | cst.GeneratorExp):
            left, right = left[:-1], right[1:]  # its own, which `ast` counts to it
        elif left and self._only_breaks_lines(target, code):
            left, right = [], []
        bare = new.with_changes(lpar=[*left, *new.lpar], rpar=[*new.rpar, *right])
        if left or not self._needs_parentheses(target, outer, bare):
            return bare
        return new.with_changes(
            lpar=[cst.LeftParen(), *new.lpar], rpar=[*new.rpar, cst.RightParen()]
        )

    def _only_breaks_lines(self, target: cst.BaseExpression, code: str) -> bool:
        """Whether parentheses hold an expression of several lines, and its new code has room on one."""
        where, utf8 = self._tree.extent(target), self._tree.utf8
        first, last = where.start, where.end
        for _ in target.lpar:
            first, last = utf8.rfind(b"(", 0, first), utf8.find(b")", last) + 1
        brackets = (*target.lpar, *target.rpar)
        if any(comments_in(bracket) for bracket in brackets):
            return False
        if b"\n" not in utf8[first:last] or "\n" in code:
            return False
        before = utf8[utf8.rfind(b"\n", 0, first) + 1 : first].decode()
        after = utf8[last:].decode().partition("\n")[0]
        return len(before) + len(code) + len(after) <= _NARROW

    def _outermost(self, target: cst.BaseExpression) -> cst.BaseExpression:
        """The largest expression that the target is part of."""
        outer = target
        for above in self._tree.ancestors(target):
            if isinstance(above, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                break
            if isinstance(above, cst.BaseExpression):
                outer = above
        return outer

    def _needs_parentheses(
        self, target: cst.BaseExpression, outer: cst.BaseExpression, new: cst.BaseExpression
    ) -> bool:
        before, after = self._tree.text_around(self._tree.expression_range(target))
        code = self._tree.module.code_for_node(new)
        shares = isinstance(target, cst.GeneratorExp) and not target.lpar  # the call's parentheses
        if not shares and (_glued(before, code[:1]) or _glued(code[-1:], after)):
            return True
        if outer is target:
            return isinstance(new, cst.NamedExpr | cst.Yield | cst.Tuple) and not new.lpar
        if isinstance(new, _CLOSED) and not self._in_string(target):
            return False
        guarded = new.with_changes(
            lpar=[cst.LeftParen(), *new.lpar], rpar=[*new.rpar, cst.RightParen()]
        )
        return self._meaning(outer, target, new) != self._meaning(outer, target, guarded)

    def _meaning(
        self, outer: cst.BaseExpression, target: cst.BaseExpression, new: cst.BaseExpression
    ) -> str | None:
        """The `ast` of the whole expression with the new part in it; None if it does not parse."""
        try:
            whole = outer.deep_replace(target, new)
            code = self._tree.module.code_for_node(cast(cst.CSTNode, whole))
            return ast.dump(parsed(f"({code}\n)"))
        except (SyntaxError, cst.CSTValidationError):
            return None

    def _in_string(self, target: cst.CSTNode) -> bool:
        return any(isinstance(above, _TEMPLATES) for above in self._tree.ancestors(target))

    def _check_string(self, target: cst.BaseExpression, new: cst.BaseExpression) -> None:
        """Before Python 3.12 no quote of the string, backslash or comment may stand inside it."""
        code = self._tree.module.code_for_node(new)
        for above in self._tree.ancestors(target):
            if isinstance(above, _TEMPLATES):
                quote = above.end
                old = self._tree.module.code_for_node(target)
                if any(mark in code and mark not in old for mark in (quote, "\\", "#", "\n", "\r")):
                    raise Refused("the new code cannot stand inside the f-string")

    def _margin(self, node: cst.CSTNode) -> str:
        """The indentation of the line on which the statement of a node starts."""
        start = self._tree.extent(node).start
        for above in self._tree.ancestors(node):
            if isinstance(above, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                start = min(start, self._tree.extent(above).start)
                break
        return self._tree.indentation_at(start)


def _spans(edit: Edit) -> list[Span]:
    match edit:
        case Replace(span=span) | Delete(span=span) | Insert(span=span):
            return [span]
        case WrapInWith(first=first, last=last):
            return [first, last]
        case Move(span=span, before=before):
            return [span, before]
        case AddImport():
            return []
    raise AssertionError(f"not an edit: {edit!r}")


def _code_of(edit: Edit) -> str:
    match edit:
        case Replace(code=code) | Insert(code=code):
            return code
        case WrapInWith(header=header):
            return header
        case _:
            return ""


_CLOSED = (
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
    cst.BaseList,
    cst.BaseSet,
    cst.BaseDict,
    cst.GeneratorExp,
    cst.BaseString,
)
_TEMPLATES = (cst.FormattedString, cst.TemplatedString)


def _glued(before: str, after: str) -> bool:
    """Whether two characters would run together into one word."""
    return (
        (before.isalnum() or before == "_")
        and (after.isalnum() or after in {"_", '"', "'"})
        and bool(after)
    )


def _comments(text: str) -> Counter[str]:
    """The comments of a text that parses."""
    # Any line end is one: from Python 3.12 on, `tokenize` refuses a carriage return by itself.
    tokens = tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)
