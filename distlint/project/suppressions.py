"""Comments that silence findings: `# distlint: ignore[…]`, `# distlint: file-ignore[…]`, `# noqa`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import field

from distlint.columns import byte_column, split_lines
from distlint.edits import ReplaceComment, Span
from distlint.findings import Applicability, Finding, Fix, Place
from distlint.patterns import pattern
from distlint.project.selection import match
from distlint.records import dataclass
from distlint.rule import Rule, Status

MARK = "distlint:"

_COMMENT = pattern(
    r"#\s*distlint:\s*(?P<kind>file-ignore|ignore)(?![\w-]|\s*[=:(])\s*(?:\[(?P<codes>[^\]]*)\])?",
    re.IGNORECASE,
)
_OTHER = pattern(
    r"#\s*distlint:\s*(?P<kind>[a-z][a-z-]*)(?:\s*[=:(\[]\s*(?P<codes>[\w\-, ]*\w)\s*[\])]?)?",
    re.IGNORECASE,
)
_LINE_WORDS = (
    "ignore ignore-line ignore-next-line disable disable-line disable-next noqa skip suppress allow"
)
_FILE_WORDS = "file-ignore ignore-file disable-file file-disable skip-file file-noqa"
_MEANT = {
    **dict.fromkeys(_LINE_WORDS.split(), "ignore"),
    **dict.fromkeys(_FILE_WORDS.split(), "file-ignore"),
}
"""What people write who come from other linters, and what they mean by it."""
_NOQA = pattern(r"#\s*noqa\b(?:\s*:\s*(?P<codes>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*))?", re.IGNORECASE)
_ANY_CASE = pattern(re.escape(MARK), re.IGNORECASE)
_SEPARATOR = pattern(r"[\s,]+")


@dataclass(slots=True)
class Suppression:
    """One comment: what it names, which lines it covers (both ends included), what it silenced.

    `codes` are written as in `select`: codes, prefixes, names; empty means every rule.
    `span` is the place of the directive, `text`; `whole` reaches to the end of the reason after it.
    """

    codes: tuple[str, ...]
    first: int
    last: int
    span: Span
    whole: Span
    text: str
    whole_file: bool = False
    noqa: bool = False
    meant: str = ""
    """For a comment that distlint does not know: the kind it stands for. It silences nothing."""
    used: set[str] = field(default_factory=set)

    def covers(self, line: int) -> bool:
        if self.meant:
            return False
        return self.whole_file or self.first <= line <= self.last


def mentions_suppression(text: str, known: Sequence[Rule]) -> bool:
    """Whether it is worth tokenising `text`: most `noqa` name codes of other linters, which silence nothing."""
    if MARK in text:
        return True
    if "noqa" not in text and "NOQA" not in text:
        return False
    named = {
        codes
        for line in split_lines(text)
        if "noqa" in line.lower()
        for codes in _NOQA.findall(line)
    }
    return not all(_are_of_others(codes, known) for codes in named) or bool(_ANY_CASE.search(text))


def _are_of_others(codes: str, known: Sequence[Rule]) -> bool:
    """Whether a `noqa` names codes, and none of `known`."""
    words = [word for word in _SEPARATOR.split(codes) if word]
    return bool(words) and not any(match(word, rule) for word in words for rule in known)


def find_suppressions(text: str) -> list[Suppression]:
    """The suppressions in the comments of `text`, which parses.

    A comment covers the statement it ends, from the statement's first to its last line (a compound
    statement: its header); one alone on its line covers the statement below.
    """
    found: list[Suppression] = []
    waiting: list[Suppression] = []  # alone on their lines, for the next statement
    trailing: list[Suppression] = []  # on a line of the statement that is being read
    start: int | None = None
    decorated = False
    lines = split_lines(text)
    try:
        # Any line end is one, as for the parser; `tokenize` by itself knows no carriage return.
        tokens = list(tokenize.generate_tokens(io.StringIO(text, newline=None).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        # The tokenizer of the library and the parser differ on rare files (form feeds, say).
        return []
    for token in tokens:
        if token.type == tokenize.COMMENT:
            new = list(_read_comment(token, lines[token.start[0] - 1]))
            found.extend(new)
            local = [item for item in new if not item.whole_file]
            alone = not lines[token.start[0] - 1][: token.start[1]].strip()
            if start is None and alone:
                waiting.extend(local)
            else:
                trailing.extend(local)
        elif token.type == tokenize.NEWLINE:
            assert start is not None
            for item in (*waiting, *trailing):
                item.first, item.last = min(item.first, start), max(item.last, token.start[0])
            if decorated:  # a comment above a decorator is meant for what is decorated
                for item in waiting:
                    item.last = token.start[0]
            else:
                waiting = []
            trailing = []
            start = None
        elif token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            continue
        elif start is None:
            start = token.start[0]
            decorated = token.string == "@"
    return found


def find_line_suppressions(text: str) -> list[Suppression]:
    """The suppressions in the comments of a shell script or YAML file, which cover a line.

    One that is alone on its line covers the next.
    """
    found: list[Suppression] = []
    for number, line in enumerate(split_lines(text), 1):
        if MARK not in line:
            continue
        at = line.rfind("#", 0, line.index(MARK))
        if at < 0:
            continue
        start, end = (number, at), (number, len(line))
        token = tokenize.TokenInfo(tokenize.COMMENT, line[at:], start, end, line)
        for item in _read_comment(token, line):
            item.last = number + 1 if not line[:at].strip() else number
            found.append(item)
    return found


def _read_comment(token: tokenize.TokenInfo, physical: str) -> Iterable[Suppression]:
    line = token.start[0]
    for form in (_COMMENT, _OTHER, _NOQA):
        match = form.search(token.string)
        if match is None or (form is _OTHER and not _meant(match)):
            continue
        begin = byte_column(physical, token.start[1] + match.start())
        end = byte_column(physical, token.start[1] + match.end())
        codes = match.group("codes")
        names = tuple(part for part in _SEPARATOR.split(codes or "") if part)
        if form is _COMMENT and codes is not None and not names:
            continue  # `ignore[]` names nothing
        yield Suppression(
            codes=names,
            first=line,
            last=line,
            span=Span(line, begin, line, end),
            whole=Span(
                line, begin, line, byte_column(physical, token.start[1] + _reach(token, match))
            ),
            text=match.group(),
            whole_file=form is _COMMENT and match.group("kind").lower() == "file-ignore",
            noqa=form is _NOQA,
            meant=_meant(match) if form is _OTHER else "",
        )


def _meant(match: re.Match[str]) -> str:
    """The kind of comment that a match of _OTHER stands for; empty for one that is right, or prose."""
    if _COMMENT.match(match.string, match.start()):
        return ""
    return _MEANT.get(match.group("kind").lower(), "")


def _reach(token: tokenize.TokenInfo, match: re.Match[str]) -> int:
    """Where, in the comment, the words after the directive end: at the next `#` or the line end."""
    following = token.string.find("#", match.end())
    return len(token.string.rstrip()) if following < 0 else following


def suppressed(
    finding: Finding,
    suppressions: Iterable[Suppression],
    matches: Callable[[str, str], bool],
) -> bool:
    """Whether a comment silences `finding`; marks what it used.

    `matches(selector, code)` says whether a selector names a code.
    """
    silenced = False
    for item in suppressions:
        if not item.covers(finding.place.line):
            continue
        if not item.codes:
            item.used.add("")
            silenced = True
        for selector in item.codes:
            if matches(selector, finding.code):
                item.used.add(selector)
                silenced = True
    return silenced


def unused(
    item: Suppression, path: str, rule: Rule, known: Sequence[Rule], running: Container[str]
) -> Finding | None:
    """The finding of `rule` (DL901) about a comment of which a part, or all, silences nothing.

    `known` are all rules; a selector is judged only where every rule that it names is `running`.
    """
    if item.noqa:  # other linters read it too
        return None
    if item.meant:
        return _misspelled(item, path, rule, known)
    unknown = [word for word in item.codes if not any(match(word, each) for each in known)]
    idle = [
        word
        for word in item.codes
        if word not in item.used
        and word not in unknown
        and all(each.code in running for each in known if match(word, each))
    ]
    if not item.codes:
        stable = [each for each in known if each.status is Status.STABLE]
        if item.used or not all(each.code in running for each in stable):
            return None
        message = "This comment silences nothing: no rule reports anything here. Remove it."
    elif unknown:
        message = f"This comment names {_quoted(unknown)}, which is no rule. Remove or correct it."
    elif idle:
        message = f"This comment silences nothing: {_quoted(idle)} is not reported here. Remove it."
    else:
        return None
    left = [word for word in item.codes if word not in unknown and word not in idle]
    text = item.text[: item.text.index("[") + 1] + ", ".join(left) + "]" if left else ""
    span = item.span
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=message,
        place=Place(path, span.line, span.column, span.end_line, span.end_column),
        fix=Fix(
            Applicability.SAFE,
            f"Leave {_quoted(left)} in the comment" if left else "Remove the comment",
            (ReplaceComment(span if left else item.whole, text),),
        ),
    )


def _misspelled(item: Suppression, path: str, rule: Rule, known: Sequence[Rule]) -> Finding:
    """The finding about a comment in the words of another linter."""
    named = all(any(match(word, each) for each in known) for word in item.codes)
    codes = ", ".join(item.codes) if named else ""
    right = f"# distlint: {item.meant}[{codes or 'CODE'}]"
    fix = None
    if codes:
        edit = ReplaceComment(item.span, right)
        # Unsafe: what was reported up to now is silenced.
        fix = Fix(Applicability.UNSAFE, f"Write `{right}`", (edit,))
    span = item.span
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=f"This comment silences nothing: distlint does not know `{item.text}`. Write `{right}`.",
        place=Place(path, span.line, span.column, span.end_line, span.end_column),
        fix=fix,
    )


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
