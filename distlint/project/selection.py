"""Which rules run: `select` and `ignore` by code, prefix of a code, name, or ALL."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from distlint.findings import Severity
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.rule import Rule, Status

ALWAYS = frozenset({"DL900", "DL902"})
"""Reported whatever is selected: without them, silence would not mean that a file was checked."""

_PREFIX = pattern(r"[A-Za-z]{2,}[0-9]*")

_EXACT = 1000  # more specific than any prefix


class UnknownSelector(ValueError):
    """A selector that fits no rule."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules that run, and those of them whose INFO findings are wanted."""

    rules: tuple[Rule, ...]
    with_info: frozenset[str]

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(rule.code for rule in self.rules)

    def reports(self, code: str, severity: Severity) -> bool:
        """Whether a finding of this severity is shown: INFO is advice, off unless selected."""
        return severity is not Severity.INFO or code in self.with_info


def match(selector: str, rule: Rule) -> int:
    """How specifically `selector` names `rule`: 0 not at all, longer prefixes more, exact most."""
    word = selector.strip()
    if word == "ALL":
        return 1
    if word.upper() == rule.code or word.lower() == rule.name:
        return _EXACT
    if _PREFIX.fullmatch(word) and rule.code.startswith(word.upper()):
        return 1 + len(word)
    return 0


def check_selectors(selectors: Iterable[str], rules: Sequence[Rule]) -> None:
    """Raise UnknownSelector, naming the nearest right one, for a selector that fits no rule."""
    for selector in selectors:
        if any(match(selector, rule) for rule in rules):
            continue
        known = [word for rule in rules for word in (rule.code, rule.name)]
        close = difflib.get_close_matches(selector.strip(), known, n=1, cutoff=0.5) or (
            difflib.get_close_matches(selector.strip().upper(), known, n=1, cutoff=0.5)
        )
        hint = f"did you mean `{close[0]}`?" if close else "`distlint rules` lists them all"
        raise UnknownSelector(f"no rule is called `{selector}`; {hint}")


def select_rules(
    rules: Sequence[Rule],
    *,
    select: Sequence[str] = (),
    extension: Sequence[str] = (),
    ignore: Sequence[str] = (),
    overruled: Sequence[str] = (),
    preview: bool = False,
) -> Selection:
    """The rules to run.

    The more specific of `select` and `ignore` wins, on a tie `ignore`. `overruled` are settings
    below `select` (the file's `ignore` under a command line's `--select`): they lose ties.
    `extension` selects more, and leaves what runs without it as it is.
    Preview rules run when named by code, prefix or name, or all with `preview`.
    """
    chosen: list[Rule] = []
    with_info: set[str] = set()
    for rule in rules:
        wanted = max((match(word, rule) for word in (*select, *extension)), default=0)
        unwanted = max((match(word, rule) for word in ignore), default=0)
        lower = max((match(word, rule) for word in overruled), default=0)
        if rule.code not in ALWAYS:
            if select and not wanted:
                continue
            if (unwanted and unwanted >= wanted) or lower > wanted:
                continue
            if rule.status is Status.PREVIEW and not preview and wanted <= 1:
                continue
        elif unwanted == _EXACT:
            continue
        if rule.severity is Severity.INFO and not wanted:
            continue
        chosen.append(rule)
        if wanted:
            with_info.add(rule.code)
    return Selection(tuple(chosen), frozenset(with_info))
