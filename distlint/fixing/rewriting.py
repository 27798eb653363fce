"""One pass over the tree that carries out all planned changes and keeps every comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final, cast

import libcst as cst

from distlint.fixing.locating import Line, Statement, Tree, comments_in, statements_of
from distlint.fixing.pieces import BlankLines, StatementLine
from distlint.records import dataclass

NewLines = Sequence["StatementLine | Moved"]


@dataclass(frozen=True, slots=True)
class Moved:
    """Stands, among new statements, for a statement that is taken from elsewhere in the file."""

    statement: Statement


@dataclass(slots=True, eq=False)
class StatementPlan:
    """What becomes of one statement and of the gaps beside it."""

    before: list[StatementLine | Moved] = field(default_factory=list)
    after: list[StatementLine | Moved] = field(default_factory=list)
    new: list[StatementLine] | None = None
    deleted: bool = False
    moved: bool = False

    @property
    def gone(self) -> bool:
        return self.deleted or self.moved


@dataclass(frozen=True, slots=True, eq=False)
class Wrap:
    """The statements from `first` to `last` of one block go under `node`, a `with` statement."""

    first: Statement
    last: Statement
    node: cst.With


@dataclass(slots=True, eq=False)
class Plan:
    """All changes of one pass, by the nodes of the tree as it was read."""

    statements: dict[Statement, StatementPlan] = field(default_factory=dict)
    nodes: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    wraps: list[Wrap] = field(default_factory=list)
    hoisted: dict[cst.CSTNode, list[cst.Comment]] = field(default_factory=dict)
    """Comments that lose their place, by the statement above which they go."""
    pruned_above: set[cst.CSTNode] = field(default_factory=set)
    """Everything that holds a statement removed with `prune`."""
    imports: dict[cst.CSTNode, list[cst.SimpleStatementLine]] = field(default_factory=dict)
    """New imports by the top-level line before which they go (the module: at the end)."""
    leading: dict[cst.CSTNode, list[cst.EmptyLine]] = field(default_factory=dict)
    """What stands above a top-level line from now on, where an import took its place."""
    header: list[cst.EmptyLine] | None = None
    """What stays at the top of the file, where a part of it belongs to the first statement."""
    touched: set[cst.CSTNode] = field(default_factory=set)
    """Nodes with a change inside; the pass enters no other."""

    def at(self, statement: Statement) -> StatementPlan:
        return self.statements.setdefault(statement, StatementPlan())


def rewrite(tree: Tree, plan: Plan) -> cst.Module:
    """The module with the plan carried out."""
    return tree.module.visit(_Rewriter(tree, plan))


class Vanishing:
    """Which statements leave nothing behind, because they go or because only such were in them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ends = {end for wrap in plan.wraps for end in (wrap.first, wrap.last)}

    def statement(self, statement: Statement) -> bool:
        planned = self._plan.statements.get(statement)
        if planned is not None and planned.gone:
            return True
        if statement not in self._plan.pruned_above or (planned and planned.new is not None):
            return False
        match statement:
            case cst.If(test=test, body=body, orelse=orelse):
                return has_no_effect(test) and self.block(body) and self.orelse(orelse)
            case cst.Try(body=body, orelse=None, finalbody=None):
                return self.block(body)  # the handlers of nothing never run
            case cst.With(items=items, body=body):
                return all(_only_suppresses(item) for item in items) and self.block(body)
            case _:
                return False

    def orelse(self, orelse: cst.If | cst.Else | None) -> bool:
        match orelse:
            case None:
                return True
            case cst.Else():
                return orelse in self._plan.pruned_above and self.block(orelse.body)
            case cst.If():
                return self.statement(orelse) and not self._gains(orelse)

    def block(self, block: cst.BaseSuite) -> bool:
        return isinstance(block, cst.IndentedBlock | cst.SimpleStatementSuite) and all(
            self.statement(statement) and not self._gains(statement)
            for statement in statements_of(block)
        )

    def _gains(self, statement: Statement) -> bool:
        planned = self._plan.statements.get(statement)
        return statement in self._ends or bool(planned and (planned.before or planned.after))


class _Rewriter(cst.CSTTransformer):
    def __init__(self, tree: Tree, plan: Plan) -> None:
        super().__init__()
        self._tree = tree
        self._plan = plan
        self._vanishing = Vanishing(plan)
        self._opening: dict[Statement, list[Wrap]] = {}
        self._closing: dict[Statement, list[Wrap]] = {}
        # Outermost first, so that wraps open in order and close in reverse.
        for wrap in sorted(plan.wraps, key=self._extent):
            self._opening.setdefault(wrap.first, []).append(wrap)
            self._closing.setdefault(wrap.last, []).append(wrap)
        self._travelling = {
            comment
            for statement, planned in plan.statements.items()
            if planned.moved
            for comment in self._travelling_comments(statement)
        }

    def _extent(self, wrap: Wrap) -> tuple[int, int]:
        first, last = self._tree.extent(wrap.first), self._tree.extent(wrap.last)
        return (first.start, -last.end)

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self._plan.touched

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        if (replacement := self._plan.nodes.get(original_node)) is not None:
            return replacement
        if original_node not in self._plan.touched:
            return updated_node
        match original_node:
            case cst.Module():
                updated_node = self._module(original_node, cast(cst.Module, updated_node))
            case cst.IndentedBlock():
                updated_node = self._indented(original_node, cast(cst.IndentedBlock, updated_node))
            case cst.SimpleStatementSuite():
                updated_node = self._suite(
                    original_node, cast(cst.SimpleStatementSuite, updated_node)
                )
            case cst.If():
                updated_node = self._if(original_node, cast(cst.If, updated_node))
        if hoisted := self._plan.hoisted.get(original_node):
            lines = cast(cst.SimpleStatementLine, updated_node).leading_lines
            updated_node = updated_node.with_changes(
                leading_lines=[*lines, *map(_own_line, hoisted)]
            )
        return updated_node

    # Blocks

    def _module(self, original: cst.Module, updated: cst.Module) -> cst.Module:
        writer = _BlockWriter(None)
        for old, new in zip(original.body, updated.body, strict=True):
            for line in self._plan.imports.get(old, ()):
                writer.add(line)
            if old in self._plan.leading:
                hoisted = new.leading_lines[len(old.leading_lines) :]
                new = new.with_changes(leading_lines=[*self._plan.leading[old], *hoisted])
            self._write(writer, old, new)
        for line in self._plan.imports.get(original, ()):
            writer.add(line)
        body, rest = writer.finish()
        header = updated.header if self._plan.header is None else self._plan.header
        updated = updated.with_changes(header=header, body=body, footer=[*rest, *updated.footer])
        # LibCST would write a line end for a module of nothing.
        if body or updated.header or updated.footer:
            return updated
        return updated.with_changes(has_trailing_newline=False)

    def _indented(self, original: cst.IndentedBlock, updated: cst.IndentedBlock) -> cst.CSTNode:
        writer = _BlockWriter(original.indent)
        for old, new in zip(original.body, updated.body, strict=True):
            self._write(writer, old, new)
        body, rest = writer.finish()
        if not body:
            body, rest = [_pass(rest)], []
        return updated.with_changes(body=body, footer=[*rest, *updated.footer])

    def _suite(
        self, original: cst.SimpleStatementSuite, updated: cst.SimpleStatementSuite
    ) -> cst.CSTNode:
        """A block on its header's line stays there while it fits, and else gets lines of its own."""
        line = cst.SimpleStatementLine(
            updated.body, trailing_whitespace=updated.trailing_whitespace
        )
        inline = self._inline(original, line)
        if inline is not None and not inline[1]:
            body = inline[0].body if inline[0] is not None else [cst.Pass()]
            return updated.with_changes(body=body)
        writer = _BlockWriter(None)
        self._write_line(writer, original, line)
        lines, rest = writer.finish()
        return cst.IndentedBlock(lines or [_pass(rest)], footer=rest if lines else ())

    def _if(self, original: cst.If, updated: cst.If) -> cst.If:
        """`elif` and `else`: an `elif` that gets company becomes an `else` with an `if` in it."""
        match original.orelse:
            case cst.Else() as old if self._vanishing.orelse(old):
                lost = self._residue(old.leading_lines, self._comments(old.body))
            case cst.If() as old if self._has_changes(old):
                writer = _BlockWriter(None)
                self._write_statement(writer, old, cast(cst.If, updated.orelse))
                body, lost = writer.finish()
                if body:
                    head, body[0] = body[0].leading_lines, body[0].with_changes(leading_lines=())
                    block = cst.IndentedBlock(body, indent=_indent_of(original), footer=lost)
                    return updated.with_changes(orelse=cst.Else(block, leading_lines=head))
            case _:
                return updated
        lost = [line for line in lost if line.comment is not None]
        updated = updated.with_changes(orelse=None)
        if isinstance(updated.body, cst.IndentedBlock):
            footer = [*updated.body.footer, *lost]
            return updated.with_changes(body=updated.body.with_changes(footer=footer))
        return updated.with_changes(leading_lines=[*updated.leading_lines, *lost])

    # Lines and statements

    def _write(
        self,
        writer: _BlockWriter,
        old: cst.BaseStatement,
        new: cst.BaseStatement,
    ) -> None:
        if isinstance(old, cst.SimpleStatementLine):
            self._write_line(writer, old, cast(cst.SimpleStatementLine, new))
        else:
            compound = cast(cst.BaseCompoundStatement, old)
            self._write_statement(writer, compound, cast(cst.BaseCompoundStatement, new))

    def _write_line(self, writer: _BlockWriter, old: Line, new: cst.SimpleStatementLine) -> None:
        if len(old.body) == 1:
            self._write_statement(writer, old.body[0], new)
        elif not any(map(self._has_changes, old.body)):
            writer.add(new)
        elif inline := self._inline(old, new):
            line, comments = inline
            if line is None:
                writer.leave([*new.leading_lines, *comments])
            else:
                writer.add(line.with_changes(leading_lines=[*line.leading_lines, *comments]))
        else:
            for position, (was, now) in enumerate(zip(old.body, new.body, strict=True)):
                first, last = position == 0, position == len(old.body) - 1
                line = cst.SimpleStatementLine(
                    [now.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)],
                    leading_lines=new.leading_lines if first else (),
                    trailing_whitespace=new.trailing_whitespace
                    if last
                    else cst.TrailingWhitespace(),
                )
                self._write_statement(writer, was, line)

    def _inline(
        self, old: Line, new: cst.SimpleStatementLine
    ) -> tuple[cst.SimpleStatementLine | None, list[cst.EmptyLine]] | None:
        """The line with its changes, and comments that lost their place; None if it must be split."""
        body: list[cst.BaseSmallStatement] = []
        lost: list[cst.EmptyLine] = []
        for was, now in zip(old.body, new.body, strict=True):
            planned = self._plan.statements.get(was)
            if was in self._opening or was in self._closing:
                return None
            if planned is None:
                body.append(now)
                continue
            if planned.before or planned.after:
                return None
            if planned.gone:
                lost.extend(map(_own_line, self._comments(was)))
            elif planned.new is not None:
                line = planned.new[0]
                if (
                    len(planned.new) > 1
                    or not isinstance(line, cst.SimpleStatementLine)
                    or line.leading_lines
                    or line.trailing_whitespace.comment
                ):
                    return None
                lost.extend(map(_own_line, _missing(self._comments(was), line)))
                body.extend(line.body)
        if not body:
            comment = new.trailing_whitespace.comment
            if comment is not None and isinstance(old, cst.SimpleStatementLine):
                lost.append(_own_line(comment))
            return None, lost
        if body[-1] is not new.body[-1]:  # another statement is the last now; it needs no `;`
            body[-1] = body[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        return new.with_changes(body=body), lost

    def _write_statement(self, writer: _BlockWriter, old: Statement, new: StatementLine) -> None:
        """Writes one statement that has its line for itself, and what goes beside it."""
        planned = self._plan.statements.get(old, _UNTOUCHED)
        leading = list(new.leading_lines)
        if planned.before:
            above, leading = _split_leading(leading)
            lines = self._lines(planned.before)
            lines[0] = lines[0].with_changes(leading_lines=[*above, *lines[0].leading_lines])
            for line in lines:
                writer.add(line)
        for wrap in self._opening.get(old, ()):
            writer.open(wrap.node)
        if planned.new is not None:
            for line in self._replacement(
                old, new.with_changes(leading_lines=leading), planned.new
            ):
                writer.add(line)
            writer.below(_blanks_below(old, self._tree.module.default_indent))
        elif planned.moved:
            # What is above a line stays there where only a part of the line moves away.
            above = _split_leading(leading)[0] if self._goes_whole(old) else leading
            writer.leave([*above, *self._staying(new)])
        elif self._vanishing.statement(old):
            comments = self._comments(old)
            if isinstance(new, cst.SimpleStatementLine) and new.trailing_whitespace.comment:
                comments.append(new.trailing_whitespace.comment)
            writer.leave(self._residue(leading, comments))
        else:
            writer.add(new.with_changes(leading_lines=leading) if planned.before else new)
        for _ in self._closing.get(old, ()):
            writer.close()
        for line in self._lines(planned.after):
            writer.add(line)

    def _replacement(
        self, old: Statement, line: StatementLine, new: Sequence[StatementLine]
    ) -> list[StatementLine]:
        lines = list(new)
        lost = _missing(self._comments(old), *lines)
        if isinstance(line, cst.SimpleStatementLine):
            trailing = line.trailing_whitespace
            place = lines[0]
            if trailing.comment is None or _missing([trailing.comment], *lines) == []:
                pass
            elif (
                isinstance(place, cst.SimpleStatementLine) and not place.trailing_whitespace.comment
            ):
                lines[0] = place.with_changes(trailing_whitespace=trailing)
            else:
                lost.append(trailing.comment)
        head = [*line.leading_lines, *map(_own_line, lost), *lines[0].leading_lines]
        lines[0] = lines[0].with_changes(leading_lines=head)
        return lines

    def _lines(self, new: NewLines) -> list[StatementLine]:
        return [self._moved(line.statement) if isinstance(line, Moved) else line for line in new]

    def _moved(self, statement: Statement) -> StatementLine:
        """A statement as it goes to its new place, changed inside where that was planned too."""
        line = self._tree.line_of(statement)
        if self._goes_whole(statement):
            moved = cast(StatementLine, cast(cst.CSTNode, line.visit(self)).visit(BlankLines()))
            above = moved.leading_lines
            if line in self._plan.leading:  # an import has parted it from the top of the file
                own = cast(StatementLine, line).leading_lines
                above = [*self._plan.leading[line], *above[len(own) :]]
            return moved.with_changes(leading_lines=_split_leading(above)[1])
        small = cast(cst.BaseSmallStatement, statement.visit(self))
        return cst.SimpleStatementLine([small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])

    # Comments

    def _comments(self, node: cst.CSTNode) -> list[cst.Comment]:
        """The comments inside a statement that do not travel elsewhere with a moved one."""
        above = getattr(node, "leading_lines", ())
        own = {line.comment for line in above}
        return [
            comment
            for comment in comments_in(node)
            if comment not in own and comment not in self._travelling
        ]

    def _travelling_comments(self, statement: Statement) -> Iterator[cst.Comment]:
        line = self._tree.line_of(statement)
        if isinstance(line, cst.SimpleStatementSuite) or not (
            isinstance(line, cst.BaseCompoundStatement) or self._alone(line)
        ):
            yield from comments_in(statement)
            return
        stay = {above.comment for above in _split_leading(line.leading_lines)[0]}
        yield from (comment for comment in comments_in(line) if comment not in stay)

    def _staying(self, line: StatementLine) -> list[cst.EmptyLine]:
        """The comment at the end of a line from which only a part moves away."""
        if isinstance(line, cst.SimpleStatementLine):
            comment = line.trailing_whitespace.comment
            if comment is not None and comment not in self._travelling:
                return [_own_line(comment)]
        return []

    def _goes_whole(self, statement: Statement) -> bool:
        """Whether a statement that moves takes its line along, with the comments above."""
        line = self._tree.line_of(statement)
        return isinstance(line, cst.BaseCompoundStatement) or self._alone(line)

    def _alone(self, line: Line) -> bool:
        return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1

    def _residue(
        self, leading: Sequence[cst.EmptyLine], comments: Sequence[cst.Comment]
    ) -> list[cst.EmptyLine]:
        return [*leading, *map(_own_line, comments)]

    def _has_changes(self, statement: Statement) -> bool:
        return (
            statement in self._plan.statements
            or statement in self._opening
            or statement in self._closing
            or self._vanishing.statement(statement)
        )


_UNTOUCHED = StatementPlan()


class _BlockWriter:
    """Collects the lines of a block, with the `with` statements that are open in it.

    Lines that removed statements leave behind (comments, blank lines) wait for the next statement.
    """

    def __init__(self, indent: str | None) -> None:
        self._indent = indent
        self._frames: list[tuple[cst.With | None, list[StatementLine]]] = [(None, [])]
        self._waiting: list[cst.EmptyLine] | None = None
        self._below: list[cst.EmptyLine] = []

    def add(self, line: StatementLine) -> None:
        # What stays as it was is not copied: its text is known.
        kept = self._waiting is None and not self._below
        above = [*self._below, *self._above(line.leading_lines)]
        self._below = []
        self._frames[-1][1].append(line if kept else line.with_changes(leading_lines=above))

    def leave(self, lines: Sequence[cst.EmptyLine]) -> None:
        self._waiting = _joined(self._waiting or [], lines)

    def below(self, lines: Sequence[cst.EmptyLine]) -> None:
        """Blank lines that stood at the end of the statement which has been written last."""
        self._below = list(lines)

    def open(self, node: cst.With) -> None:
        self._frames.append((node, []))

    def close(self) -> None:
        node, body = self._frames.pop()
        assert node is not None
        if not body:
            body = [_pass(())]
        # What stood above the first statement stays where it is, now above the `with`.
        above, body[0] = body[0].leading_lines, body[0].with_changes(leading_lines=())
        body = [cast(StatementLine, line.visit(BlankLines())) for line in body]
        block = cst.IndentedBlock(body, indent=self._indent)
        wrapped = node.with_changes(body=block, leading_lines=above)
        self._frames[-1][1].append(wrapped)

    def finish(self) -> tuple[list[StatementLine], list[cst.EmptyLine]]:
        """The lines, and the comments that found no statement after them."""
        ((_, body),) = self._frames
        comments = [line for line in self._waiting or [] if line.comment is not None]
        return body, [*self._below, *comments]

    def _above(self, leading: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return list(leading)
        if not any(body for _, body in self._frames) and not _has_comment(waiting):
            # The first statement of the block is gone: keep its blank lines, not the next one's.
            return [*waiting, *leading[_blanks(leading) :]]
        return _joined(waiting, leading)


def _joined(above: Sequence[cst.EmptyLine], below: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Both, but only the longer of two runs of blank lines that now meet."""
    if _has_comment(above):
        return [*above, *below]
    return [*below] if _blanks(below) >= len(above) else [*above, *below[_blanks(below) :]]


def _blanks(lines: Sequence[cst.EmptyLine]) -> int:
    """How many blank lines `lines` starts with."""
    count = 0
    for line in lines:
        if line.comment is not None:
            break
        count += 1
    return count


def _has_comment(lines: Sequence[cst.EmptyLine]) -> bool:
    return any(line.comment is not None for line in lines)


def _split_leading(
    lines: Sequence[cst.EmptyLine],
) -> tuple[list[cst.EmptyLine], list[cst.EmptyLine]]:
    """What stands above a statement at a distance, and the comments directly on top of it."""
    at = len(lines)
    while at and lines[at - 1].comment is not None:
        at -= 1
    return list(lines[:at]), list(lines[at:])


def _blanks_below(statement: Statement, indent: str) -> list[cst.EmptyLine]:
    """The blank lines that LibCST counts to the end of a statement's last block, as they stand below it."""
    blanks: list[cst.EmptyLine] = []
    node: cst.CSTNode | None = statement
    inside = ""
    while node is not None:
        if isinstance(node, cst.IndentedBlock):
            inside += node.indent or indent
            blanks[:0] = [_from(line, inside) for line in node.footer if line.comment is None]
        inner = [child for child in node.children if isinstance(child, _LAST_PARTS)]
        node = inner[-1] if inner else None
    return blanks


def _from(line: cst.EmptyLine, inside: str) -> cst.EmptyLine:
    """A blank line of a block as one of the block around: with as many spaces in all."""
    if not line.indent:
        return line
    return line.with_changes(whitespace=cst.SimpleWhitespace(inside + line.whitespace.value))


_LAST_PARTS: Final = (
    cst.IndentedBlock,
    cst.BaseCompoundStatement,
    cst.Else,
    cst.Finally,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
)
"""What may hold the last block of a statement."""


def _own_line(comment: cst.Comment) -> cst.EmptyLine:
    return cst.EmptyLine(comment=comment)


def _pass(leading: Sequence[cst.EmptyLine]) -> cst.SimpleStatementLine:
    return cst.SimpleStatementLine([cst.Pass()], leading_lines=leading)


def _missing(comments: Sequence[cst.Comment], *new: cst.CSTNode) -> list[cst.Comment]:
    """Those of `comments` that the new code does not bring along itself."""
    brought = [comment.value for node in new for comment in comments_in(node)]
    missing = []
    for comment in comments:
        if comment.value in brought:
            brought.remove(comment.value)
        else:
            missing.append(comment)
    return missing


def _indent_of(statement: cst.If) -> str | None:
    return statement.body.indent if isinstance(statement.body, cst.IndentedBlock) else None


_ENVIRONMENT = frozenset({"os.environ", "environ"})
_ENVIRONMENT_READS = frozenset(
    {"os.environ.get", "environ.get", "os.getenv", "getenv", "os.environ.keys", "environ.keys"}
)


def has_no_effect(test: cst.BaseExpression) -> bool:
    """Whether a test can go away unseen: names, attributes, constants, comparisons, the environment."""
    match test:
        case cst.Name() | cst.BaseNumber() | cst.SimpleString() | cst.Ellipsis():
            return True
        case cst.ConcatenatedString(left=left, right=right):
            return has_no_effect(left) and has_no_effect(right)
        case cst.Attribute(value=value):
            return has_no_effect(value)
        case cst.UnaryOperation(expression=expression):
            return has_no_effect(expression)
        case cst.BooleanOperation(left=left, right=right):
            return has_no_effect(left) and has_no_effect(right)
        case cst.Comparison(left=left, comparisons=comparisons):
            return has_no_effect(left) and all(has_no_effect(c.comparator) for c in comparisons)
        case (
            cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements)
        ):
            return all(has_no_effect(element.value) for element in elements)
        case cst.Subscript(value=value, slice=elements):
            return _dotted(value) in _ENVIRONMENT and all(
                isinstance(element.slice, cst.Index) and has_no_effect(element.slice.value)
                for element in elements
            )
        case cst.Call(func=func, args=args):
            return _dotted(func) in _ENVIRONMENT_READS and all(
                has_no_effect(argument.value) for argument in args
            )
        case _:
            return False


def _only_suppresses(item: cst.WithItem) -> bool:
    return (
        isinstance(item.item, cst.Call)
        and item.asname is None
        and _dotted(item.item.func) in {"contextlib.suppress", "suppress"}
    )


def _dotted(node: cst.BaseExpression) -> str | None:
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=value, attr=cst.Name(value=name)):
            base = _dotted(value)
            return None if base is None else f"{base}.{name}"
        case _:
            return None
