"""The code that edits bring: `$name` references, and text that becomes LibCST nodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TypeVar, cast

import libcst as cst

from distlint.fixing.locating import Refused
from distlint.patterns import pattern

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
StatementLine = cst.SimpleStatementLine | cst.BaseCompoundStatement

# Strings and comments are matched first so that a `$` inside them is left alone: but for `{$name` in an
# f-string, which no code of a file can hold.
_TOKEN = pattern(
    r"""[rRbBuUfFtT]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""""
    r"""|'(?:\\.|[^\\\n'])*'|"(?:\\.|[^\\\n"])*")"""
    r"""|\#[^\n]*|\$(?P<name>[A-Za-z_]\w*)""",
    re.DOTALL,
)
_IN_BRACES = pattern(r"(?<=[^{]\{)\$(?P<name>[A-Za-z_]\w*)")
_LINE_END = pattern(r"\r\n|\r|\n")


def runtime_names(code: str) -> list[str]:
    """The names that `code` refers to as `$name`, each once, in order."""
    tokens = list(_TOKEN.finditer(code))
    found = [name for token in tokens if (name := token["name"])]
    found += [inner["name"] for token in tokens for inner in _in_f_string(token[0])]
    return list(dict.fromkeys(found))


def with_names(code: str, known_as: Mapping[str, str]) -> str:
    """`code` with each `$name` written as the file knows it."""

    def written(token: re.Match[str]) -> str:
        if token["name"]:
            return known_as[token["name"]]
        if not _is_f_string(token[0]):
            return token[0]
        return _IN_BRACES.sub(lambda inner: known_as[inner["name"]], token[0])

    return _TOKEN.sub(written, code)


def _in_f_string(token: str) -> Iterator[re.Match[str]]:
    return _IN_BRACES.finditer(token) if _is_f_string(token) else iter(())


def _is_f_string(token: str) -> bool:
    """Whether a token is an f-string: one that was prefixed so, and no bare name."""
    return token[-1:] in "\"'" and "f" in re.split("[\"']", token, maxsplit=1)[0].lower()


def plain_names(code: str) -> tuple[set[str], set[str]]:
    """The variables that `code` itself binds, and those it reads, `$name` references left out."""
    text = with_names(code, dict.fromkeys(runtime_names(code), "_"))
    for attempt in (text, f"with {text}:\n pass", f"_({text})"):
        try:
            tree = ast.parse(attempt)
        except (SyntaxError, ValueError):
            continue
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id != "_"]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        return {node.id for node in names if not isinstance(node.ctx, ast.Load)}, read
    return set(), set()


class Pieces:
    """Parses pieces of code for one file, in its line ends and under its names."""

    def __init__(self, module: cst.Module, known_as: Mapping[str, str]) -> None:
        self._newline = module.default_newline
        self._known_as = known_as

    def expression(self, code: str, margin: str = "") -> cst.BaseExpression:
        """`margin` is the indentation of where it goes. Raises Refused where it is no expression."""
        text = self._text(code.strip())
        # Assignments, `yield` and expressions over several lines parse only in parentheses.
        for attempt in (text, f"({text})"):
            try:
                node = cst.parse_expression(attempt, self._config())
            except cst.ParserSyntaxError:
                continue
            return _without_margin(_visited(node, _OwnLineEnds()), margin)
        raise Refused(f"the new code {_shown(code)} is not an expression")

    def argument(self, code: str, margin: str = "") -> cst.Arg:
        """Raises Refused where `code` is not one argument of a call."""
        try:
            call = cst.parse_expression(f"_({self._text(code.strip())})", self._config())
        except cst.ParserSyntaxError:
            call = None
        if not isinstance(call, cst.Call) or len(call.args) != 1:
            raise Refused(f"the new code {_shown(code)} is not an argument")
        return _without_margin(_visited(call.args[0], _OwnLineEnds()), margin)

    def statements(self, code: str, indent: str | None, margin: str = "") -> list[StatementLine]:
        """The statements of `code`, blocks in them indented by `indent` (None: as the file does).

        A comment after the last statement comes before it. Raises Refused where `code` does not
        parse or holds no statement.
        """
        try:
            module = cst.parse_module(self._text(code.strip("\r\n")), self._config())
        except cst.ParserSyntaxError:
            raise Refused(f"the new code {_shown(code)} does not parse") from None
        if not module.body:
            raise Refused(f"the new code {_shown(code)} holds no statement")
        module = _visited(module, _OwnLineEnds())
        body = list(module.body)
        if indent is not None:
            body = [_visited(statement, _Indented(indent)) for statement in body]
        if len(body) == 1 and isinstance(body[0], cst.SimpleStatementLine):
            body = [_without_margin(body[0], margin)]
        body[0] = body[0].with_changes(leading_lines=[*module.header, *body[0].leading_lines])
        tail = [line for line in module.footer if line.comment is not None]
        body[-1] = body[-1].with_changes(leading_lines=[*body[-1].leading_lines, *tail])
        return body

    def with_statement(self, header: str) -> cst.With:
        """`with header:` around `pass`. Raises Refused where the header does not parse."""
        text = f"with {self._text(header.strip())}:{self._newline}    pass"
        try:
            module = cst.parse_module(text, self._config())
        except cst.ParserSyntaxError:
            module = None
        if module is None or len(module.body) != 1 or not isinstance(module.body[0], cst.With):
            raise Refused(f"the header {_shown(header)} does not parse after `with`")
        return _visited(module.body[0], _OwnLineEnds())

    def _text(self, code: str) -> str:
        return _LINE_END.sub(self._newline, with_names(code, self._known_as))

    def _config(self) -> cst.PartialParserConfig:
        return cst.PartialParserConfig(default_newline=self._newline)


class BlankLines(cst.CSTTransformer):
    """Blank lines stay empty where the code around them gets an indentation."""

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine:
        if updated_node.comment is None and not updated_node.whitespace.value:
            return updated_node.with_changes(indent=False)
        return updated_node


class _OwnLineEnds(BlankLines):
    def leave_Newline(self, original_node: cst.Newline, updated_node: cst.Newline) -> cst.Newline:
        return updated_node.with_changes(value=None)


class _Indented(cst.CSTTransformer):
    def __init__(self, indent: str) -> None:
        super().__init__()
        self._indent = indent

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(indent=self._indent)


class _Margins(cst.CSTVisitor):
    """The white space at the start of the lines that continue a bracket."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def visit_ParenthesizedWhitespace(self, node: cst.ParenthesizedWhitespace) -> None:
        self.found.append(node.last_line.value)
        self.found.extend(line.whitespace.value for line in node.empty_lines if line.comment)


class _WithoutMargin(cst.CSTTransformer):
    def __init__(self, margin: str) -> None:
        super().__init__()
        self._margin = margin

    def leave_ParenthesizedWhitespace(
        self,
        original_node: cst.ParenthesizedWhitespace,
        updated_node: cst.ParenthesizedWhitespace,
    ) -> cst.ParenthesizedWhitespace:
        def shorter(space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
            return space.with_changes(value=space.value.removeprefix(self._margin))

        return updated_node.with_changes(
            last_line=shorter(updated_node.last_line),
            empty_lines=[
                line.with_changes(whitespace=shorter(line.whitespace))
                for line in updated_node.empty_lines
            ],
        )


def _visited(node: NodeT, transformer: cst.CSTTransformer) -> NodeT:
    return cast(NodeT, node.visit(transformer))


def _without_margin(node: NodeT, margin: str) -> NodeT:
    """`node` with continuation lines relative to its own column.

    Rules build code from segments of the file, whose continuation lines stand where they stood;
    without this they would be indented twice.
    """
    margins = _Margins()
    node.visit(margins)
    if margin and margins.found and all(found.startswith(margin) for found in margins.found):
        return _visited(node, _WithoutMargin(margin))
    return node


def _shown(code: str) -> str:
    line, _, rest = code.strip().partition("\n")
    return f"`{line[:60]}{'...' if rest or len(line) > 60 else ''}`"
