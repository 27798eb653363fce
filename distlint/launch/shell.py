"""The commands of a shell script: their words, with the variables filled in whose value stands in the script."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from distlint.findings import Place

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_WORDS = 20_000
"""A script with more words is data."""

MAX_SIGNS = 3_000
"""The same of a sign that opens or joins: the parser takes minutes for 50,000 brackets that nothing closes."""

_FOLDER: Final = r"""dirname (?:-- )?["']?(?:\$0|\$\{?BASH_SOURCE(?:\[0\])?\}?)["']?"""
_OWN_FOLDER: Final = re.compile(
    rf"""\$\( *(?:{_FOLDER}|(?:cd|readlink -f|realpath) (?:-- )?["']?\$\( *{_FOLDER} *\)["']?(?: *(?:&&|;) *pwd(?: -P)?)?) *\)"""
)
"""What asks for the folder in which the script itself lies: `.`, seen from there.

mmpretrain 17a886c tools/dist_train.sh:11: `torch.distributed.launch … $(dirname "$0")/train.py`.
"""
_OPTION: Final = re.compile(r"[\"']?(--?[\w-]+)=")
_TESTS: Final = frozenset({"if_statement", "elif_clause", "case_statement"})
_VARIABLE: Final = re.compile(r"\$\{?[#!]?(\w+)")
_SEEKS: Final = re.compile(r"(?:command\s+-v|which|hash|type(?:\s+-[pPt])?)\s+([\w.+-]+)")
"""How scripts ask whether a program is there."""
_LOOPS: Final = frozenset({"for_statement", "while_statement", "c_style_for_statement"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command.

    Attributes:
        text: as the command gets it; None where a part of it is not known.
        place: where it is written.
        sure: whether nothing outside of the script changes it: `${N:-8}` is 8 unless N is set.
        option: `--node_rank` of `--node_rank=$N`, whose value is not known.
    """

    text: str | None
    place: Place
    sure: bool = True
    option: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, and the variables that it is given (`A=1 command`, and exports before)."""

    words: tuple[Word, ...]
    environment: dict[str, Word] = field(default_factory=dict)
    line: int = 0
    background: bool = False
    """Whether the script goes on while it runs: `command &`."""
    repeated: bool = False
    """Whether it stands in a loop."""
    function: str = ""
    """The function of the script in whose body it stands."""
    tested: frozenset[str] = frozenset()
    """The variables that tests around it ask for: in its arm they may be something else than what is written above."""
    sought: frozenset[str] = frozenset()
    """The programs for which tests around it look: `if command -v torchrun`."""


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def commands_of(path: str, text: str, first: int = 1) -> list[Command]:
    """The commands of the script `text`, whose first line is line `first` of the file `path`.

    Bodies of here-documents are data. What cannot be parsed is passed over.
    """
    if max(text.count(sign) for sign in "(|{<`") > MAX_SIGNS:
        return []
    reader = _Script(path, first)
    try:
        reader.read(_parser().parse(text.encode("utf-8", "replace")).root_node)
    except RecursionError:  # `${A:-${A:-…` a thousand deep
        return []
    return reader.commands


def is_shell(text: str) -> bool:
    """Whether all of `text` is a shell script: other languages end it somewhere."""
    if max(text.count(sign) for sign in "(|{<`") > MAX_SIGNS:
        return False
    return not _parser().parse(text.encode("utf-8", "replace")).root_node.has_error


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a node: see `Command`."""

    background: bool = False
    repeated: bool = False
    function: str = ""
    tested: frozenset[str] = frozenset()
    sought: frozenset[str] = frozenset()


class _Script:
    """One script, read from top to bottom."""

    def __init__(self, path: str, first: int) -> None:
        self._path = path
        self._first = first
        self._variables: dict[str, list[Word]] = {}
        self._exported: dict[str, Word] = {}
        self._words = 0
        self.commands: list[Command] = []

    def read(self, root: Node) -> None:
        # What is around a node is handed down: to ask each one for its parents takes minutes where 2,000 `if` nest.
        waiting = [(root, _Around())]
        while waiting and self._words < MAX_WORDS:
            node, around = waiting.pop()
            below = _below(node, around)
            match node.type:
                case "command":
                    self._command(node, around)
                    children = [each for each in below if each[0].type != "variable_assignment"]
                    waiting.extend(reversed(children))
                    continue
                case "for_statement":
                    variable = node.child_by_field_name("variable")
                    if variable is not None:
                        self._variables[_text(variable)] = [Word(None, self._place(node))]
                case "variable_assignment":
                    self._assign(node)
                case "declaration_command":
                    self._declare(node)
                    continue
                case "heredoc_body":
                    continue
            waiting.extend(reversed(below))

    def _declare(self, node: Node) -> None:
        """`export A=1`, `declare A=1`."""
        exports = bool(node.children) and _text(node.children[0]) == "export"
        for child in node.named_children:
            if child.type == "variable_assignment":
                name = self._assign(child)
                if exports and name in self._variables:
                    self._exported[name] = _joined(self._variables[name], self._place(child))
            elif child.type == "variable_name" and exports:
                name = _text(child)
                if name in self._variables:
                    self._exported[name] = _joined(self._variables[name], self._place(child))

    def _assign(self, node: Node) -> str:
        """Remember what a variable is set to; a variable that is set twice is not known."""
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = _text(name_node) if name_node is not None else ""
        if "+=" in _text(node)[: len(name) + 2]:
            self._variables[name] = [Word(None, self._place(node))]
            return name
        if value is None:
            words = [Word("", self._place(node))]
        elif value.type == "array":
            words = [word for child in value.named_children for word in self._expanded(child)]
        else:
            words = [self._word(value)]
            if value.type == "string" and (words[0].text is None or not words[0].sure):
                words = self._words_of(value)
        before = self._variables.get(name)
        if before is not None and [w.text for w in before] != [w.text for w in words]:
            words = [Word(None, self._place(node))]
        self._variables[name] = words
        if name in self._exported:
            self._exported[name] = _joined(words, self._place(node))
        return name

    def _command(self, node: Node, around: _Around) -> None:
        words: list[Word] = []
        environment = dict(self._exported)
        for child in node.named_children:
            if child.type == "variable_assignment":
                key, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                if key is not None and value is not None:
                    word = self._word(value)
                    environment[_text(key)] = Word(word.text, self._place(child), word.sure)
            elif child.type == "command_name":
                words += self._expanded(child.named_children[0] if child.named_children else child)
            elif "redirect" not in child.type:
                words += self._expanded(child)
        self._words += len(words)
        line = node.start_point[0] + self._first
        self.commands.append(
            Command(
                tuple(words),
                environment,
                line,
                around.background,
                around.repeated,
                around.function,
                around.tested,
                around.sought,
            )
        )

    def _expanded(self, node: Node) -> list[Word]:
        """The words that one written word becomes: `$ARGS` without quotes may be several."""
        inner = node
        if node.type == "string" and len(node.named_children) == 1:
            child = node.named_children[0]
            if child.type == "expansion" and "[@]" in _text(child):
                inner = child
        if inner.type in ("simple_expansion", "expansion"):
            known = self._variables.get(_variable(inner))
            if known is not None and len(known) > 1:
                return [Word(w.text, self._place(node), w.sure) for w in known]
            word = self._word(inner)
            if word.text is not None and node.type != "string":
                return [Word(part, word.place, word.sure) for part in _split(word.text)]
            return [Word(word.text, self._place(node), word.sure)]
        return [self._word(node)]

    def _word(self, node: Node) -> Word:
        text, sure = self._value(node)
        named = _OPTION.match(_text(node)) if text is None else None
        return Word(text, self._place(node), sure, named[1] if named is not None else "")

    def _value(self, node: Node) -> tuple[str | None, bool]:
        """The text of a word, and whether it is sure."""
        match node.type:
            case "word" | "number" | "string_content" | "special_variable_name":
                return _unescaped(_text(node)), True
            case "raw_string":
                return _text(node)[1:-1], True
            case "simple_expansion":
                return self._of_variable(_variable(node))
            case "expansion":
                return self._expansion(node)
            case "string":
                return self._parts(node, _between(node, 1, -1))
            case "concatenation":
                return self._parts(node, (node.start_byte, node.end_byte))
            case "command_substitution" if _OWN_FOLDER.fullmatch(_text(node)):
                return ".", True
        return None, True

    def _parts(self, node: Node, span: tuple[int, int]) -> tuple[str | None, bool]:
        """Joins the children of a word. What stands between them is text, too."""
        source, base = node.text or b"", node.start_byte
        at, end = span
        pieces: list[str] = []
        sure = True
        for child in node.named_children:
            pieces.append(_unescaped(_decoded(source[at - base : child.start_byte - base])))
            text, child_sure = self._value(child)
            if text is None:
                return None, sure
            pieces.append(text)
            sure = sure and child_sure
            at = child.end_byte
        pieces.append(_unescaped(_decoded(source[at - base : end - base])))
        return "".join(pieces), sure

    def _words_of(self, node: Node) -> list[Word]:
        """The words in a text of which a part is not known, or not sure: that is only of the words around it.

        mistral bf9eff0 scripts/run/ddp.sh:20: `CONFIG_ARGS="--config conf/a.yaml --nnodes ${nnodes}"`.
        """
        place, source, base = self._place(node), node.text or b"", node.start_byte
        pieces: list[tuple[str | None, bool]] = []
        at, end = _between(node, 1, -1)
        for child in node.named_children:
            pieces.append((_unescaped(_decoded(source[at - base : child.start_byte - base])), True))
            pieces.append(self._value(child))
            at = child.end_byte
        pieces.append((_unescaped(_decoded(source[at - base : end - base])), True))
        words: list[Word] = []
        text, sure, open_word = "", True, False
        unknown = False
        for piece, piece_sure in pieces:
            if piece is None or not piece_sure:
                unknown, sure, open_word = unknown or piece is None, False, True
                text += piece or ""
                continue
            for number, part in enumerate(re.split(r"\s+", piece)):
                if number and open_word:
                    words.append(Word(None if unknown else text, place, sure))
                    text, sure, open_word, unknown = "", True, False, False
                text += part
                open_word = open_word or bool(part)
        if open_word:
            words.append(Word(None if unknown else text, place, sure))
        return words if len(words) > 1 else [self._word(node)]

    def _expansion(self, node: Node) -> tuple[str | None, bool]:
        """`${N}` and `${N:-8}`; what cuts or replaces is not known."""
        name = _variable(node)
        raw = _text(node)
        if raw in (f"${{{name}}}", f"${{{name}[@]}}", f"${{{name}[*]}}"):
            return self._of_variable(name)
        for operator in (":-", "-", ":="):
            if raw.startswith(f"${{{name}{operator}"):
                text, sure = self._of_variable(name)
                if text is not None and sure:
                    return text, True
                rest = [child for child in node.named_children if child.type != "variable_name"]
                if len(rest) > 1:
                    return None, False
                return (self._value(rest[0])[0] if rest else ""), False
        return None, True

    def _of_variable(self, name: str) -> tuple[str | None, bool]:
        known = self._variables.get(name)
        if known is None or any(word.text is None for word in known):
            return None, True
        return " ".join(word.text or "" for word in known), all(word.sure for word in known)

    def _place(self, node: Node) -> Place:
        (line, column), (end_line, end_column) = node.start_point, node.end_point
        return Place(self._path, line + self._first, column, end_line + self._first, end_column)


def _below(node: Node, around: _Around) -> list[tuple[Node, _Around]]:
    """The children of a node, and what is around each: a pipeline that ends in `&`, a loop, a function, a test."""
    joined = node.type in ("redirected_statement", "pipeline")
    if node.type in _LOOPS:
        around = replace(around, repeated=True)
    elif node.type == "function_definition":
        name = node.child_by_field_name("name")
        around = replace(around, function=_text(name) if name is not None else "")
    elif node.type in _TESTS:
        test = _text(node.named_children[0]) if node.named_children else ""
        around = replace(
            around,
            tested=around.tested | _asked_for(node),
            sought=around.sought | set(_SEEKS.findall(test)),
        )
    children = node.children
    after = [each.type == "&" for each in (*children[1:], *children[-1:])]
    return [
        (child, replace(around, background=around.background if joined else ends))
        for child, ends in zip(children, after, strict=True)
        if child.is_named
    ]


def _asked_for(node: Node) -> frozenset[str]:
    """The variables in the test of an `if`, `elif` or `case`."""
    tests = [each for each in node.named_children[:1] if each.type not in ("command", "comment")]
    return frozenset(name for each in tests for name in _VARIABLE.findall(_text(each)))


def _joined(words: list[Word], place: Place) -> Word:
    if any(word.text is None for word in words):
        return Word(None, place)
    text = " ".join(word.text or "" for word in words)
    return Word(text, place, all(word.sure for word in words))


def _between(node: Node, left: int, right: int) -> tuple[int, int]:
    return node.start_byte + left, node.end_byte + right


def _variable(node: Node) -> str:
    for child in node.named_children:
        if child.type in ("variable_name", "special_variable_name"):
            return _text(child)
        if child.type == "subscript":
            return _variable(child)
    return ""


def _text(node: Node) -> str:
    return _decoded(node.text or b"")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _unescaped(text: str) -> str:
    return (
        text.replace("\\\n", "").replace("\\\r\n", "").replace("\\", "") if "\\" in text else text
    )


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
