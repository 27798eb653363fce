"""Files that a program has another one fetch, unpack or read: `os.system(f"wget {url} -O {path}")`."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.memory import remembered_of_nodes
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge import sinks
from distlint.knowledge.schema import Effect
from distlint.patterns import pattern

_PLACEHOLDER: Final = pattern(r"%s|\{\w*\}")


def command_of(call: ast.Call, function: Function) -> ast.expr | None:
    """The command that a call runs, be it the one in a list that a loop goes through; None where it is not written out.

    suncet 731547d src/data_manager.py:1093: `commands = [["tar", "-xf", …]]`, `for cmnd in commands: subprocess.run(cmnd)`.
    """
    given = call.args[0] if call.args else None
    if not isinstance(given, ast.Name):
        return given
    looped = any(
        isinstance(node.target, ast.Name) and node.target.id == given.id
        for node in own_nodes(function, ast.For)
    )
    # Of a loop's variable, what it goes through counts as assigned, once for the name and once for the loop.
    values = {ast.unparse(value): value for value in assignments(function).get(given.id, ())}
    if looped and len(values) == 1:
        (value,) = values.values()
        values = (
            {ast.unparse(each): each for each in assignments(function).get(value.id, ())}
            if isinstance(value, ast.Name)
            else values
        )
    match list(values.values()):
        case [ast.List(elts=[command])] if looped:
            return command
        case [ast.List() | ast.JoinedStr() | ast.Constant() as command] if not looped:
            return command
    return None


@remembered_of_nodes
def made_by_command(command: ast.expr) -> tuple[Effect, ast.expr] | None:
    """What a command does to which path: the value of the option that says where to; None where none is written out.

    Of several commands in one text, the first counts.
    """
    words = _words(command)
    program = words[0] if words else None
    tool = sinks.FETCHING.get(program) if isinstance(program, str) else None
    if tool is None or (tool.only and not any(_is_mode(word, tool.only) for word in words[1:2])):
        return None
    for option, value in pairwise(words):
        if isinstance(option, str) and option in tool.into and value not in sinks.NO_FILES:
            return tool.effect, _as_expression(value)
    return None


@remembered_of_nodes
def copied_by_command(command: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What `cp` copies one file from and to: its two words.

    polygon-transformer 69fc728 train.py:332: `cp {folder}/checkpoint_last.pt {folder}/checkpoint_epoch_{epoch}.pt`.
    """
    match [each for each in _words(command) if not (isinstance(each, str) and each[:1] == "-")]:
        case ["cp", source, target]:
            return _as_expression(source), _as_expression(target)
    return None


def _as_expression(word: str | ast.expr) -> ast.expr:
    return ast.Constant(word) if isinstance(word, str) else word


@remembered_of_nodes
def removed_by_command(call: ast.Call) -> list[ast.expr]:
    """The paths that a command removes, whoever has removed them before: `rm -r {folder}/*`, whose failure nobody hears of.

    AVT b082c99 func/train.py:355. `check=True` would tell of it.
    """
    words = _words(call.args[0]) if call.args else []
    if not words or words[0] != "rm" or any(k.arg == "check" for k in call.keywords):
        return []
    return [
        _as_expression(word)
        for word in words[1:]
        if not (isinstance(word, str) and word.startswith("-"))
    ]


def put_into(command: ast.expr) -> list[ast.expr]:
    """The words of a command that are not written out: paths, numbers, and texts."""
    return [word for word in _words(command) if isinstance(word, ast.expr)]


def _is_mode(word: str | ast.expr, letter: str) -> bool:
    return isinstance(word, str) and not word.startswith("--") and letter in word


def _words(command: ast.expr) -> list[str | ast.expr]:
    """The words of a command: those written out as texts, what stands for others as expressions."""
    match command:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [
                part.value
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
                else part
                for part in parts
            ]
    words: list[str | ast.expr] = []
    pending: list[ast.expr] = []
    """What stands for the word at hand, or for a part of it."""
    text = ""

    def end_word() -> None:
        nonlocal text
        bare = text.strip("'\"")
        if pending:
            pieces = [*pending, *([ast.Constant(bare)] if bare else [])]
            words.append(pieces[0] if len(pieces) == 1 else _joined(pieces))
        elif bare:
            words.append(bare)
        pending.clear()
        text = ""

    for piece in _pieces(command):
        if isinstance(piece, ast.expr):
            if text.strip("'\""):
                pending.append(ast.Constant(text.lstrip("'\"")))
            text = ""
            pending.append(piece)
            continue
        for number, part in enumerate(re.split(r"[\s;&|]+", piece)):
            if number:
                end_word()
            text += part
    end_word()
    return words


def _joined(pieces: list[ast.expr]) -> ast.expr:
    return ast.JoinedStr(
        [
            piece if isinstance(piece, ast.Constant) else ast.FormattedValue(piece, conversion=-1)
            for piece in pieces
        ]
    )


def _pieces(command: ast.expr) -> list[str | ast.expr]:
    """A text in parts: what is written out, and the expressions that are put into it."""
    match command:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return [piece for value in values for piece in _pieces(value)]
        case ast.FormattedValue(value=value):
            return [value]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [*_pieces(left), *_pieces(right)]
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=given):
            return _filled(text, given.elts if isinstance(given, ast.Tuple) else [given])
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"), args=given
        ):
            return _filled(text, given)
    return [command]


def _filled(text: str, given: list[ast.expr]) -> list[str | ast.expr]:
    texts = _PLACEHOLDER.split(text)
    if len(texts) != len(given) + 1:
        return [text]
    found: list[str | ast.expr] = [texts[0]]
    for value, after in zip(given, texts[1:], strict=True):
        found += [value, after]
    return found
