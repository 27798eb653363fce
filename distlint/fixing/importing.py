"""Where new imports go: into the statement that imports from the same module, or in their place
in the imports at the top, in isort's order; always before the first statement that uses them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import libcst as cst

from distlint.fixing.locating import Tree
from distlint.fixing.naming import Needed
from distlint.fixing.rewriting import Plan
from distlint.patterns import pattern
from distlint.records import dataclass

_PINNED = pattern(
    r"isort: *skip|first import|(?:be|must be|import(?:ed)?) (?:this )?(?:first|before)|(?:not|never) (?:move|re-?order)",
    re.IGNORECASE,
)
_FUTURE, _STANDARD, _INSTALLED, _RELATIVE = range(4)


def plan_imports(tree: Tree, plan: Plan, needed: Sequence[Needed], before: int) -> None:
    """Adds the imports to the plan.

    `before` is the offset of the first code that uses one of them; they go above the top-level
    statement that holds it. Nothing is added in conditions, `try` blocks or functions.
    """
    modules = dict.fromkeys((item.module, bool(item.name)) for item in needed)
    for module, is_from in sorted(modules):
        items = sorted(
            {item for item in needed if (item.module, bool(item.name)) == (module, is_from)},
            key=lambda item: (item.name, item.local),
        )
        if not (is_from and _extend(tree, plan, module, items, before)):
            _insert(tree, plan, module, items, before)


def _extend(tree: Tree, plan: Plan, module: str, items: Sequence[Needed], before: int) -> bool:
    """Adds the names to an import from the same module, if there is one that can take them."""
    for line in tree.module.body:
        if _end(tree, line) > before or not isinstance(line, cst.SimpleStatementLine):
            continue
        for small in line.body:
            if (
                isinstance(small, cst.ImportFrom)
                and not small.relative
                and _dotted(small.module) == module
                and not isinstance(small.names, cst.ImportStar)
                and small not in plan.statements
                and small not in plan.nodes
                and small not in plan.touched
            ):
                plan.nodes[small] = _with_names(small, items)
                plan.touched.update((line, tree.module))
                return True
    return False


def _with_names(statement: cst.ImportFrom, items: Sequence[Needed]) -> cst.ImportFrom:
    assert not isinstance(statement.names, cst.ImportStar)
    names = list(statement.names)
    space: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    opening = statement.lpar.whitespace_after if statement.lpar else None
    if isinstance(opening, cst.ParenthesizedWhitespace):
        space = cst.ParenthesizedWhitespace(indent=opening.indent, last_line=opening.last_line)
    for item in items:
        new = _alias(item)
        at = next((i for i, old in enumerate(names) if _name(old) > item.name), len(names))
        last = names[-1]
        if at == len(names) and _ends_with_comment(last):
            at -= 1  # the comment at the end of the line stays with its name
        if at < len(names):
            names.insert(at, new.with_changes(comma=cst.Comma(whitespace_after=space)))
        else:
            names[-1] = last.with_changes(comma=cst.Comma(whitespace_after=space))
            names.append(new.with_changes(comma=last.comma))
    return statement.with_changes(names=names)


def _ends_with_comment(alias: cst.ImportAlias) -> bool:
    space = alias.comma.whitespace_after if isinstance(alias.comma, cst.Comma) else None
    return isinstance(space, cst.ParenthesizedWhitespace) and (
        space.first_line.comment is not None
        or any(line.comment is not None for line in space.empty_lines)
    )


def _alias(item: Needed) -> cst.ImportAlias:
    if item.local == item.name:
        return cst.ImportAlias(cst.Name(item.name))
    return cst.ImportAlias(cst.Name(item.name), asname=cst.AsName(cst.Name(item.local)))


def _name(alias: cst.ImportAlias) -> str:
    return alias.name.value if isinstance(alias.name, cst.Name) else ""


def _statement(module: str, items: Sequence[Needed]) -> cst.SimpleStatementLine:
    path = cst.parse_expression(module)
    assert isinstance(path, cst.Name | cst.Attribute)
    if items[0].name:
        return cst.SimpleStatementLine(
            [cst.ImportFrom(module=path, names=[_alias(item) for item in items])]
        )
    return cst.SimpleStatementLine([cst.Import([cst.ImportAlias(path)])])


@dataclass(frozen=True, slots=True)
class _Order:
    """Where an import stands in isort's default order."""

    section: int
    is_from: bool
    module: str

    @property
    def key(self) -> tuple[bool, str]:
        return (self.is_from, self.module.lower())


def _insert(tree: Tree, plan: Plan, module: str, items: Sequence[Needed], before: int) -> None:
    lines = tree.module.body
    limit = next((i for i, line in enumerate(lines) if _end(tree, line) > before), len(lines))
    start = _after_prologue(tree)
    new = _statement(module, items)
    order = _Order(_section(module), bool(items[0].name), module)

    def section_of(index: int) -> int:
        return _order(lines[index]).section

    star = max((i for i in range(start, limit) if _is_star(lines[i])), default=-1)
    if star >= start:  # what it brings would hide an import above it
        start = star + 1
        if start == limit or not _is_import(lines[start]):
            _put(plan, tree, start, new)
            return
    run = _last_run(lines, start, limit, order.section)
    if not run:
        _put_without_imports(tree, plan, new, start)
        return
    blank = cst.EmptyLine(indent=False)

    def share(group: Sequence[int]) -> float:
        return [section_of(i) for i in group].count(order.section) / len(group)

    # Where a stray of the section stands among others, its own group is further down.
    group = max(_groups(run, lines), key=share)
    if share(group):
        alike = [i for i in group if section_of(i) == order.section]
        keys = [_order(lines[i]).key for i in alike]
        at = alike[-1] + 1
        if keys == sorted(keys):  # where nobody sorts, it follows the last of its kind
            at = next((i for i, key in zip(alike, keys, strict=True) if key > order.key), at)
        if at == group[0]:
            _take_leading(plan, tree, new, at)
        else:
            _put(plan, tree, at, new)
        return
    # A group of its own, behind the last import of a section that comes before.
    last = max((i for i in run if section_of(i) < order.section), default=None)
    if last is None:
        _take_leading(plan, tree, new, run.start)
        plan.leading[lines[run.start]] = [blank]
        return
    if last + 1 not in run or _starts_group(lines[last + 1]):
        new = new.with_changes(leading_lines=[blank])
    _put(plan, tree, last + 1, new)


def _is_star(line: cst.CSTNode) -> bool:
    match line:
        case cst.SimpleStatementLine(body=[cst.ImportFrom(names=cst.ImportStar())]):
            return True
    return False


def _put(plan: Plan, tree: Tree, at: int, line: cst.SimpleStatementLine) -> None:
    lines = tree.module.body
    anchor = lines[at] if at < len(lines) else tree.module
    plan.imports.setdefault(anchor, []).append(line)
    plan.touched.add(tree.module)


def _take_leading(plan: Plan, tree: Tree, new: cst.SimpleStatementLine, at: int) -> None:
    """Puts `new` at the head of a group; blank lines and a heading above stay above."""
    line = tree.module.body[at]
    leading = plan.leading.get(line, list(getattr(line, "leading_lines", ())))
    plan.leading[line] = []
    _put(plan, tree, at, new.with_changes(leading_lines=leading))


def _put_without_imports(tree: Tree, plan: Plan, new: cst.SimpleStatementLine, start: int) -> None:
    module = tree.module
    blank = cst.EmptyLine(indent=False)
    following = module.body[start] if start < len(module.body) else None
    if following is not None and following in plan.imports:
        # The second import of this pass: it follows the first.
        _put(plan, tree, start, new)
        return
    leading = list(getattr(following, "leading_lines", ()))
    if start > 0:
        new = new.with_changes(leading_lines=[blank])
    elif module.header:
        header = list(module.header)
        at = max((i for i, line in enumerate(header) if line.comment is None), default=-1) + 1
        if 0 < at < len(header):
            # The comment directly on top of the first statement belongs to it, not to the file.
            leading = [*header[at:], *leading]
            plan.header = header[:at]
        elif at == 0:
            new = new.with_changes(leading_lines=[blank])
    if following is not None:
        wanted = 2 if isinstance(following, cst.FunctionDef | cst.ClassDef) else 1
        blanks = next(
            (i for i, line in enumerate(leading) if line.comment is not None), len(leading)
        )
        plan.leading[following] = [blank] * max(wanted - blanks, 0) + leading
    _put(plan, tree, start, new)


def _after_prologue(tree: Tree) -> int:
    """The index behind the module's docstring, its imports from `__future__` and those that have to be first."""
    lines = tree.module.body
    at = 0
    if lines and _is_docstring(lines[0]):
        at = 1
    for index in range(at, len(lines)):
        line = lines[index]
        if not (_is_import(line) and _order(line).section == _FUTURE):
            break
        at = index + 1
    while at < len(lines) and _is_import(lines[at]):
        above = [*([] if at else tree.module.header), *getattr(lines[at], "leading_lines", ())]
        if not _is_pinned(lines[at], above):
            break
        at += 1
    return at


def _is_pinned(line: cst.CSTNode, above: Sequence[cst.EmptyLine]) -> bool:
    """Whether comments say that an import stays where it is, before the others.

    GLIP 9dda955 tools/finetune.py:8: "this should be the first import", and `isort:skip`.
    """
    trailing = getattr(line, "trailing_whitespace", None)
    comments = [each.comment for each in above]
    comments.append(trailing.comment if trailing is not None else None)
    return any(each is not None and _PINNED.search(each.value) for each in comments)


def _is_docstring(line: cst.CSTNode) -> bool:
    return (
        isinstance(line, cst.SimpleStatementLine)
        and isinstance(line.body[0], cst.Expr)
        and isinstance(line.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )


def _last_run(lines: Sequence[cst.CSTNode], start: int, limit: int, section: int) -> range:
    """The last unbroken run of imports, preferably one with others of the section.

    Imports below the first function or class count only if there are none above it.
    """
    runs: list[range] = []
    for index in range(start, limit):
        line = lines[index]
        if isinstance(line, cst.FunctionDef | cst.ClassDef) and runs:
            break
        if _is_import(line):
            if runs and runs[-1].stop == index:
                runs[-1] = range(runs[-1].start, index + 1)
            else:
                runs.append(range(index, index + 1))
    alike = [run for run in runs if any(_order(lines[i]).section == section for i in run)]
    return (alike or runs or [range(0)])[-1]


def _groups(run: range, lines: Sequence[cst.CSTNode]) -> list[list[int]]:
    """The imports of a run, parted at blank lines."""
    groups: list[list[int]] = []
    for index in run:
        if not groups or _starts_group(lines[index]):
            groups.append([])
        groups[-1].append(index)
    return groups


def _starts_group(line: cst.CSTNode) -> bool:
    return any(above.comment is None for above in getattr(line, "leading_lines", ()))


def _is_import(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Import | cst.ImportFrom) for small in line.body
    )


def _order(line: cst.CSTNode) -> _Order:
    assert isinstance(line, cst.SimpleStatementLine)
    match line.body[0]:
        case cst.ImportFrom(relative=relative, module=module):
            name = _dotted(module)
            return _Order(_RELATIVE if relative else _section(name), True, name)
        case cst.Import(names=names):
            name = _dotted(names[0].name)
            return _Order(_section(name), False, name)
    raise AssertionError("asked for the order of a line that is no import")


def _section(module: str) -> int:
    root = module.partition(".")[0]
    if root == "__future__":
        return _FUTURE
    return _STANDARD if root in sys.stdlib_module_names else _INSTALLED


def _dotted(node: cst.BaseExpression | None) -> str:
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=value, attr=attr):
            return f"{_dotted(value)}.{attr.value}"
        case _:
            return ""


def _end(tree: Tree, line: cst.CSTNode) -> int:
    return tree.extent(line).end
