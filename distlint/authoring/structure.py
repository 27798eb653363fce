"""What a rule's folder must hold before anything of it runs: page, codes, cases, look-alikes, a proof."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from distlint.authoring.folders import RuleFolder
from distlint.authoring.remarks import Remark
from distlint.codes import FAMILIES, OWN, family_of, is_code, is_name
from distlint.pages import HEADINGS, headings, reason_for_no_cases, reason_for_no_proof
from distlint.proving.declaration import DeclarationError, read_declaration
from distlint.proving.expectations import expectations
from distlint.rule import Rule

TO_FILL_IN: Final = "FILL IN"
"""Stands in a scaffold wherever the author has something to write."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Counts:
    """How many functions of some cases hold a marked line, and how many hold none."""

    bugs: int
    look_alikes: int


def text_of(path: Path) -> str:
    """The text of a rule's file, for looking at; what is not UTF-8 is replaced."""
    return path.read_text(encoding="utf-8", errors="replace")


def structure_remarks(
    folder: RuleFolder, rule: Rule, known: Mapping[str, Rule]
) -> Iterator[Remark]:
    """What is missing or wrong in a rule's folder, as far as reading it shows."""
    yield from _names(folder, rule, known)
    yield from _page(folder, rule)
    yield from _placeholders(folder)
    if folder.cases.is_file():
        yield from _marks(folder, rule, known)
    elif reason_for_no_cases(rule.page) is None and not folder.launch_cases.is_dir():
        text = "missing; a rule without cases gives its reason on its page: `No cases: …`"
        yield Remark(folder.cases, None, text)
    if problem := proof_problem(folder, rule):
        yield Remark(folder.proof, None, problem)


def proof_problem(folder: RuleFolder, rule: Rule) -> str | None:
    """Why the proof cannot be run, or that there is none without a reason; None where all is well."""
    if not folder.proof.is_file():
        if reason_for_no_proof(rule.page) is not None:
            return None
        return "missing; a rule without a proof gives its reason on its page: `Not proven: …`"
    try:
        codes = read_declaration(folder.proof).codes
    except DeclarationError as error:
        return str(error).removeprefix(f"{folder.proof}: ")
    if rule.code not in codes:
        return f"no line is marked `# expect: {rule.code}`; mark the one that check must report"
    return None


def _names(folder: RuleFolder, rule: Rule, known: Mapping[str, Rule]) -> Iterator[Remark]:
    if not is_code(rule.code):
        text = f"CODE is {rule.code!r}; a code is two or more capitals and three digits"
        yield Remark(folder.page, None, text)
    if not is_name(rule.name):
        text = f"NAME is {rule.name!r}; a name is two or more lower-case words with hyphens"
        yield Remark(folder.page, None, text)
    elif folder.path.name != rule.name.replace("-", "_"):
        wanted = rule.name.replace("-", "_")
        yield Remark(folder.page, None, f"the folder of `{rule.name}` is called {wanted}")
    for other in known.values():
        if other.module != rule.module and (other.code == rule.code or other.name == rule.name):
            what = rule.code if other.code == rule.code else f"`{rule.name}`"
            yield Remark(folder.page, None, f"{what} is taken by {other.module}; choose another")
    family = family_of(rule.code)
    if folder.bundled and (family is None or folder.path.parent.name != family.folder):
        where = next((f for f in FAMILIES if f.folder == folder.path.parent.name), None)
        wanted = f"{where.prefix}xx" if where else f"one of the families of {OWN}"
        yield Remark(folder.page, None, f"CODE is {rule.code}; the codes of this folder: {wanted}")
    elif not folder.bundled and rule.code.startswith(OWN) and is_code(rule.code):
        yield Remark(folder.page, None, f"CODE is {rule.code}; codes with {OWN} are distlint's own")


def _page(folder: RuleFolder, rule: Rule) -> Iterator[Remark]:
    if not rule.summary.endswith("."):
        text = "the first line of the docstring is one sentence that says what the rule finds"
        yield Remark(folder.page, 1, text)
    found = headings(rule.page)
    if found != HEADINGS:
        wanted = next(
            (a for a, b in zip(HEADINGS, (*found, *HEADINGS), strict=False) if a != b), ""
        )
        hint = f"`## {wanted}` is missing or stands elsewhere" if wanted else "there are more"
        text = f"the headings of the page are {', '.join(HEADINGS)}, in this order; {hint}"
        yield Remark(folder.page, 1, text)
        return
    sections = re.split(r"^## (.+)$", rule.page, flags=re.M)[1:]
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        if not text.strip():
            yield Remark(folder.page, 1, f"nothing stands under `## {heading}`")


def _placeholders(folder: RuleFolder) -> Iterator[Remark]:
    for path in sorted(folder.path.glob("*.py")):
        if path == folder.fixed_cases:  # follows the cases
            continue
        lines = text_of(path).splitlines()
        numbers = [number for number, line in enumerate(lines, 1) if TO_FILL_IN in line]
        if numbers:
            where = ", ".join(map(str, numbers))
            yield Remark(
                path, numbers[0], f"to be filled in: line{'s' * (len(numbers) > 1)} {where}"
            )


def _marks(folder: RuleFolder, rule: Rule, known: Mapping[str, Rule]) -> Iterator[Remark]:
    """What the marks of the cases and of the proof come to."""
    cases = text_of(folder.cases)
    for path in (folder.cases, folder.proof):
        for line, codes in expectations(text_of(path)) if path.is_file() else ():
            for code in codes:
                if code not in known and code != rule.code:
                    yield Remark(path, line, f"`# expect: {code}`: no rule has this code")
    try:
        counts = counts_of(cases, rule.code)
    except (SyntaxError, ValueError) as error:
        at: int | None = getattr(error, "lineno", None)
        reason = getattr(error, "msg", str(error))
        yield Remark(folder.cases, at, f"not Python: {reason}")
        return
    if not counts.bugs:
        text = f"no line is marked `# expect: {rule.code}`; mark those that the rule must report"
        yield Remark(folder.cases, None, text)
    if counts.look_alikes < counts.bugs:
        text = (
            f"{counts.bugs} bugs, and {counts.look_alikes} look-alikes (functions without a mark): "
            "write at least as many look-alikes as bugs"
        )
        yield Remark(folder.cases, None, text)


def counts_of(text: str, code: str) -> Counts:
    """How many functions of some cases are bugs (hold a mark of `code`) and look-alikes (hold none).

    A function inside another counts with it. Raises SyntaxError or ValueError where it is not Python.
    """
    marked = {line for line, codes in expectations(text) if code in codes}
    bugs = look_alikes = 0
    for function in _outer_functions(ast.parse(text)):
        lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
        if marked.isdisjoint(lines):
            look_alikes += 1
        else:
            bugs += 1
        marked.difference_update(lines)
    return Counts(bugs + len(marked), look_alikes)


def _outer_functions(tree: ast.AST) -> Iterator[Definition]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition):
            yield node
        else:
            yield from _outer_functions(node)
