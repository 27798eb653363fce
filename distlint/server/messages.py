"""Between what distlint finds and what the Language Server Protocol says: places, diagnostics, edits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from distlint.columns import split_lines
from distlint.findings import Applicability, Place, Severity
from distlint.fixing.replacements import Replacement
from distlint.records import dataclass
from distlint.reporting.report import Reported, Texts
from distlint.server.session import absolute

SOURCE: Final = "distlint"

_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Names:
    """How the client calls files, and in which units it counts characters.

    `opened` maps the absolute paths of open files to the URI by which the client knows each.
    """

    codec: PositionCodec
    opened: dict[str, str]

    def uri(self, path: str) -> str:
        """The client's name for the file at an absolute path."""
        return self.opened.get(path) or uris.from_fs_path(path) or ""

    def range(self, texts: Texts, place: Place) -> types.Range:
        """A place in the client's units, lines from 0."""
        start, end = texts.columns(place)
        return types.Range(
            self._position(texts.line(place.path, place.line), place.line, start),
            self._position(texts.line(place.path, place.end_line), place.end_line, end),
        )

    def location(self, texts: Texts, place: Place) -> types.Location:
        """The same, with the file."""
        return types.Location(self.uri(absolute(place)), self.range(texts, place))

    def edits(self, before: str, pieces: Iterable[Replacement]) -> list[types.TextEdit]:
        """Changes of the text `before`."""
        lines = split_lines(before)

        def position(line: int, column: int) -> types.Position:
            text = lines[line - 1] if line <= len(lines) else ""
            return self._position(text, line, column)

        return [
            types.TextEdit(
                types.Range(
                    position(piece.line, piece.column), position(piece.end_line, piece.end_column)
                ),
                piece.text,
            )
            for piece in pieces
        ]

    def _position(self, text: str, line: int, column: int) -> types.Position:
        return types.Position(line - 1, self.codec.client_num_units(text[: column - 1]))


def diagnostic(row: Reported, texts: Texts, names: Names) -> types.Diagnostic:
    """A finding as editors show it: the witness and what else explains it are related places."""
    finding = row.finding
    return types.Diagnostic(
        range=names.range(texts, finding.place),
        message=finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(names.location(texts, place), text)
            for place, text in _explained(row)
        ]
        or None,
        data=row.fingerprint,
    )


def _explained(row: Reported) -> Iterator[tuple[Place, str]]:
    """The places that explain a finding, and what is said of each."""
    for related in row.finding.related:
        yield related.place, related.message
    witness = row.finding.witness
    if witness is not None:
        for step in witness.chain:
            yield step.place, step.text
        for ranks, steps in witness.columns:
            for step in steps:
                yield step.place, f"{ranks}: {step.text}"


def title(row: Reported) -> str:
    """What a fix is called in a menu."""
    fix = row.finding.fix
    assert fix is not None
    unsafe = " (unsafe)" if fix.applicability is Applicability.UNSAFE else ""
    return f"{row.finding.code}: {fix.message}{unsafe}"


def hover(rows: Sequence[Reported], pages: dict[str, str], where: types.Range) -> types.Hover:
    """The pages of the rules whose findings are at a place."""
    parts = [f"# {code}\n\n{pages[code]}" for code in dict.fromkeys(r.finding.code for r in rows)]
    text = types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts))
    return types.Hover(text, where)


def contains(where: types.Range, position: types.Position) -> bool:
    """Whether a position is in a range, or at its end."""
    return where.start <= position <= where.end


def overlap(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges share a position."""
    return one.start <= other.end and other.start <= one.end
