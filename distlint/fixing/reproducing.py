"""From a file's bytes to a tree that gives the same bytes back, or to the sentence why not.

LibCST loses two things that Python accepts: form feeds at the start of a line, and a lone carriage
return at the end of the file. They are taken away before and given back after.
"""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
import warnings

import libcst as cst

from distlint.fixing.locating import Refused
from distlint.patterns import pattern
from distlint.records import dataclass

_LINE_END = pattern(r"[\r\n]")
_LINE = pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FEEDS = pattern(r"[ \t\f]*\f(?=[ \t]*[^\s])")


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it was read (`original`), and as LibCST got it (`text`, `module`).

    `shifts` is how many bytes the latter lacks at the start of a line, by line from 1.
    """

    original: str
    encoding: str
    text: str
    module: cst.Module
    shifts: dict[int, int]

    def restored(self, text: str) -> str:
        """`text`, an edited form of `self.text`, with what was taken away on lines that stayed."""
        if self.original == self.text:
            return text
        if self.original == self.text + "\r":
            return text + "\r"
        before, after = _LINE.findall(self.text), _LINE.findall(text)
        original = _LINE.findall(self.original)
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            lines += original[i1:i2] if tag == "equal" else after[j1:j2]
        return "".join(lines)


def read_file(data: bytes) -> FileText:
    """Raises Refused where the bytes cannot be decoded, parsed, or given back as they are."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        original = data.decode(encoding)
        same = original.encode(encoding) == data
    except (SyntaxError, UnicodeError) as error:
        raise Refused(f"the file cannot be decoded ({first_line(error)})") from None
    if not same:
        raise Refused(f"the file's bytes are not what {encoding} writes for its text")
    text = original
    shifts: dict[int, int] = {}
    if "\f" in text or text.endswith("\r"):
        text, shifts = _without_lost_parts(text)
    module = _module(text)
    if module.code != text:
        raise Refused("LibCST cannot give the file back byte for byte")
    if original.endswith("\r") and not _LINE_END.search(text):
        module = module.with_changes(default_newline="\r")
    return FileText(original, encoding, text, module, shifts)


def parsed(text: str) -> ast.Module:
    """The `ast` tree. Raises SyntaxError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\\d" in a string is the author's
        return ast.parse(text)


def fault(text: str) -> str:
    """What Python finds wrong with a text that it can parse, empty where nothing: an argument given twice, say.

    Nothing is run: the text is compiled, and what comes of it is let go.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fixed>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            return f"{error.msg}, line {error.lineno}"
        except (RecursionError, MemoryError):  # too deep for Python's compiler, before and after
            return ""
    return ""


def _module(text: str) -> cst.Module:
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        line = error.editor_line
        raise Refused(f"LibCST cannot parse the file (line {line}: {error.message})") from None
    except cst.CSTValidationError as error:  # `return(a if b else c)`, LibCST 1.9.0
        raise Refused(f"LibCST cannot parse the file ({first_line(error)})") from None


def _without_lost_parts(text: str) -> tuple[str, dict[int, int]]:
    inside_strings: set[int] = set()
    try:
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                inside_strings.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    except (SyntaxError, ValueError) as error:
        raise Refused(f"the file does not parse ({first_line(error)})") from None
    lines: list[str] = _LINE.findall(text)
    shifts: dict[int, int] = {}
    for number, line in enumerate(lines, start=1):
        feeds = _FEEDS.match(line)
        if feeds is not None and number not in inside_strings:
            lines[number - 1] = line[feeds.end() :]
            shifts[number] = feeds.end()
    if lines and lines[-1].endswith("\r"):
        lines[-1] = lines[-1][:-1]
    return "".join(lines), shifts


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
