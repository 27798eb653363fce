"""The quote of a shell script that nothing closes, and the command that lacks both of its quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from distlint.patterns import pattern

_DOCUMENT: Final = pattern(r"<<-?[ \t]*(?:\\?([\w.]+)|'([^'\n]+)'|\"([^\"\n]+)\")")
"""The word that ends a document which begins on the next line."""
_OF_NOTHING: Final = pattern(
    r"^(?:[^#\n'\"`]|\"[^\"\n]*\"|'[^'\n]*')*?[\s;|&(/](?P<shell>(?:ba|da|z|k)?sh(?:[ \t]+-\w+)*[ \t]+-l?c)"
    r"[ \t]*(?:\\\n[ \t]*)*(?:&&|\|\|?|;|\n|\Z)",
    re.MULTILINE,
)
"""A shell that is told to run a command, where none stands behind it."""


def open_quote(text: str) -> int | None:
    """Where a quote begins that is still open at the end of a script; None where all are closed.

    bash then says `unexpected EOF while looking for matching`, and runs nothing from the command on that holds it.

    Args:
        text: the script.

    Returns:
        The offset of the quote.
    """
    return _Scanner(text).run()


def commands_of_nothing(text: str) -> Iterator[tuple[int, int]]:
    """Where a script has a shell run a command (`bash -c`) and an operator or the end of the line stands in its place.

    The quote that opens it is missing: that of a second such place, or of its own end, makes the number of quotes even.
    OpenLLaMA2 f5c137f examples/scripts/train_ppo_llama_ray_slurm.sh:35: `srun … bash -c \\`, and below `&& pip install …`.

    Args:
        text: the script.

    Yields:
        The offsets at which the words of such a shell begin and end.
    """
    for found in _OF_NOTHING.finditer(text):
        yield found.span("shell")


class _Scanner:
    """What is open at a place: quotes, `$(`, `${`, `(` and backquotes, each with where it begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[tuple[str, int]] = []
        self.documents: list[str] = []

    def run(self) -> int | None:
        text, size = self.text, len(self.text)
        while self.at < size:
            sign = text[self.at]
            inside = self.open[-1][0] if self.open else ""
            if sign == "\\":
                self.at += 2
            elif inside == '"':
                self._in_quotes(sign)
            elif sign == "\n":
                self.at += 1
                self._pass_documents()
            elif sign == "'" and not self._is_text_of_quotes():
                start = self.at
                if text[start - 1 : start] == "$":
                    end = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL).match(text, start + 1)
                    found = end.end() - 1 if end is not None else -1
                else:
                    found = text.find("'", start + 1)
                if found < 0:
                    return start
                self.at = found + 1
            elif sign == "#" and (self.at == 0 or text[self.at - 1] in " \t\n;&|("):
                end_of_line = text.find("\n", self.at)
                self.at = size if end_of_line < 0 else end_of_line
            else:
                self._outside(sign, inside)
        quotes = [start for sign, start in self.open if sign == '"']
        return quotes[0] if quotes else None

    def _is_text_of_quotes(self) -> bool:
        """Whether a single quote is a sign like any other: in `"${x:-it's}"`."""
        kinds = [sign for sign, _ in self.open[-2:]]
        return kinds == ['"', "${"]

    def _in_quotes(self, sign: str) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if sign == '"':
            self.open.pop()
            self.at += 1
        elif sign == "$" and following in "({" and following:
            self.open.append((f"${following}", self.at))
            self.at += 2
        elif sign == "`":
            self._backquote()
        else:
            self.at += 1

    def _outside(self, sign: str, inside: str) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if sign == '"':
            self.open.append((sign, self.at))
            self.at += 1
        elif sign == "$" and following in "({" and following:
            self.open.append((f"${following}", self.at))
            self.at += 2
        elif sign == "`":
            self._backquote()
        elif sign == "(":
            self.open.append((sign, self.at))
            self.at += 1
        elif (sign == ")" and inside in ("(", "$(")) or (sign == "}" and inside == "${"):
            self.open.pop()
            self.at += 1
        elif (found := _DOCUMENT.match(self.text, self.at)) is not None and (
            self.text[self.at : self.at + 3] != "<<<"
        ):
            self.documents.append(found[1] or found[2] or found[3])
            self.at = found.end()
        elif self.text.startswith("<<<", self.at):
            self.at += 3
        else:
            self.at += 1

    def _backquote(self) -> None:
        if any(sign == "`" for sign, _ in self.open):
            while self.open.pop()[0] != "`":
                pass
        else:
            self.open.append(("`", self.at))
        self.at += 1

    def _pass_documents(self) -> None:
        """Go on behind the documents that begin here."""
        for word in self.documents:
            end = re.compile(rf"^\t*{re.escape(word)}[ \t]*$", re.MULTILINE).search(
                self.text, self.at
            )
            self.at = len(self.text) if end is None else end.end()
        self.documents.clear()
