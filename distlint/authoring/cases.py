"""A rule's cases, run: found where they are marked and nowhere else, and repaired as written down."""

from __future__ import annotations

import ast
import io
import tempfile
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from distlint.analysis import Source, build_model
from distlint.authoring.folders import RuleFolder
from distlint.authoring.remarks import Remark
from distlint.authoring.structure import TO_FILL_IN
from distlint.checking import Request
from distlint.edits import Edit, ReplaceComment
from distlint.findings import Finding
from distlint.fixing.diff import diff_text
from distlint.knowledge.literals import PREFILTER
from distlint.project.files import discover
from distlint.project.selection import Selection, match
from distlint.project.settings import Settings, SettingsTree
from distlint.project.suppressions import find_suppressions
from distlint.proving.expectations import expectations
from distlint.repairing import Repair, applies, repair
from distlint.reporting.report import Report
from distlint.reporting.style import Style
from distlint.reporting.text import Layout, render
from distlint.rule import Rule

_NOT_FOLLOWED: Final = (
    "`{name}` is not followed: neither it nor what it calls names a rank, a collective or a wrapper"
)


@dataclass(slots=True)
class CasesResult:
    """What running some cases showed: what is wrong, what is worth knowing, how many fixes went in."""

    failures: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    fixes: int = 0
    rewritten: bool = False


@dataclass(frozen=True, slots=True)
class _Cases:
    """The cases of one rule, parsed."""

    folder: RuleFolder
    rule: Rule
    text: str
    tree: ast.Module

    def remark(self, line: int | None, text: str) -> Remark:
        """Something about one line of the cases."""
        return Remark(self.folder.cases, line, text)

    @property
    def marked(self) -> list[int]:
        """The lines that the rule must report; a line twice where it is marked twice."""
        pairs = expectations(self.text)
        return [line for line, codes in pairs for code in codes if code == self.rule.code]


def run_cases(
    folder: RuleFolder, rule: Rule, known: Mapping[str, Rule], *, rewrite: bool
) -> CasesResult:
    """Check and fix the cases of a rule; with `rewrite`, cases.fixed.py becomes what the fix gives."""
    result = CasesResult()
    before = folder.cases.read_bytes()
    text = before.decode("utf-8-sig", "replace")
    try:
        cases = _Cases(folder, rule, text, ast.parse(text))
    except (SyntaxError, ValueError):
        return result  # a remark on the structure
    with tempfile.TemporaryDirectory(prefix="distlint-cases-") as name:
        copy = Path(name).resolve() / "cases.py"
        copy.write_bytes(before)
        request = _request(copy, cases, known)
        if not any(word in before for word in (*PREFILTER, *rule.literals)):
            text = "none of LITERALS stands here: files like this one are not read, and nothing is found"
            result.failures.append(cases.remark(None, text))
            return result
        first = repair([request], unsafe=True)
    report = first.before
    result.failures += [cases.remark(None, problem.reason) for problem in report.problems]
    if result.failures:
        return result
    result.failures += _differences(cases, report, request.selection)
    result.failures += _said_twice(cases, report)
    result.failures += _said_of_this_process(cases, report)
    result.fixes = first.applied
    result.failures += _fix_remarks(cases, first)
    _compare_with_written(cases, first, result, rewrite=rewrite)
    _tell_what_is_not_followed(cases, report, result)
    return result


def _request(copy: Path, cases: _Cases, known: Mapping[str, Rule]) -> Request:
    """A request for the rule alone, and for those that comments in its cases silence."""
    named = {word for item in find_suppressions(cases.text) for word in item.codes}
    silenced = [rule for rule in known.values() if any(match(word, rule) for word in named)]
    rules = {rule.code: rule for rule in (*silenced, cases.rule)}
    selection = Selection(tuple(rules.values()), frozenset(rules))
    settings = Settings(root=copy.parent, fix_style="runtime")
    tree = SettingsTree(settings, fixed=settings)
    paths = [str(copy)]
    return Request(
        paths, discover(paths, tree), settings, tree, tuple(known.values()), selection
    )


def _differences(cases: _Cases, report: Report, selection: Selection) -> Iterator[Remark]:
    """Where findings and marks are not the same."""
    code = cases.rule.code
    found = [row.finding.place.line for row in report.findings if row.finding.code == code]
    for line in sorted({*found, *cases.marked}):
        times, wanted = found.count(line), cases.marked.count(line)
        if times < wanted:
            yield cases.remark(line, f"{code} is expected here, and is not found")
        elif times > wanted:
            often = "" if times == 1 else f" {times} times"
            yield cases.remark(line, f"{code} is found here{often}, and is not expected")
    for other in sorted({row.finding.code for row in report.findings} - selection.codes):
        yield Remark(cases.folder.page, None, f"check() reports {other}, the rule's CODE is {code}")


def _said_twice(cases: _Cases, report: Report) -> Iterator[Remark]:
    """Findings whose advice stands already in what a terminal shows above it."""
    layout = Layout(Style(), width=160, quiet=True)
    for row in report.findings:
        shown = render(replace(report, findings=[row]), layout)
        for label in ("fix: ", "to do: "):
            before, found, advice = shown.rpartition(f"\n  {label}")
            if found and " ".join(advice.split()) in " ".join(before.split()):
                text = f"what {row.finding.code} says to do is said above it as well"
                yield cases.remark(row.finding.place.line, text)


def _said_of_this_process(cases: _Cases, report: Report) -> Iterator[Remark]:
    """Findings that name an object by its address, which is another in each process."""
    for row in report.findings:
        if " object at 0x" in repr(row.finding):
            text = f"what {row.finding.code} says names an object of this process: ` object at 0x…`"
            yield cases.remark(row.finding.place.line, text)


# The fix


def _fix_remarks(cases: _Cases, first: Repair) -> Iterator[Remark]:
    """What is wrong with what the fix did."""
    for note in first.notes:
        yield cases.remark(int(note.path.rpartition(":")[2]), note.reason)
    for problem in first.after.problems:
        yield cases.remark(None, problem.reason)
    if not first.files:
        return
    after = first.files[0].after.decode("utf-8-sig", "replace")
    try:
        tree = ast.parse(after)
    except (SyntaxError, ValueError) as error:
        yield cases.remark(None, f"the fixed cases are not Python: {error}")
        return
    for row in first.after.findings:
        if applies(row.finding, unsafe=True):
            line, code = row.finding.place.line, row.finding.code
            yield cases.remark(None, f"the fix leaves {code} to fix, at line {line} of its result")
    offers = [row.finding for row in first.before.findings if applies(row.finding, unsafe=True)]
    if not any(isinstance(edit, ReplaceComment) for edit in _edits(offers)):
        left = _comments(after)
        for comment in _comments(cases.text):
            if comment in left:
                left.remove(comment)
            else:
                yield cases.remark(None, f"the fix loses the comment `{comment}`")
    yield from _changed_beside(cases, offers, after, tree)


def _changed_beside(
    cases: _Cases, offers: Sequence[Finding], after: str, tree: ast.Module
) -> Iterator[Remark]:
    """Top-level statements that the fix changed though no finding speaks of them."""
    touched = {line for finding in offers for line in _lines_of(finding)}
    kept = {_segment(after, statement) for statement in tree.body}
    for statement in cases.tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        lines = _lines(statement)
        if touched.isdisjoint(lines) and _segment(cases.text, statement) not in kept:
            yield cases.remark(lines.start, "the fix changes this statement, of which no finding speaks")


def _lines_of(finding: Finding) -> Iterator[int]:
    """The lines that a finding speaks of."""
    for place in (finding.place, *(related.place for related in finding.related)):
        yield from range(place.line, place.end_line + 1)


def _edits(findings: Sequence[Finding]) -> list[Edit]:
    return [edit for finding in findings if finding.fix for edit in finding.fix.edits]


def _lines(statement: ast.stmt) -> range:
    """The lines of a statement, those of its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (statement.end_lineno or statement.lineno) + 1)


def _segment(text: str, statement: ast.stmt) -> str:
    lines = _lines(statement)
    return "\n".join(text.splitlines()[lines.start - 1 : lines.stop - 1])


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def _compare_with_written(
    cases: _Cases, first: Repair, result: CasesResult, *, rewrite: bool
) -> None:
    """Compare the fixed cases with cases.fixed.py, or write them there."""
    path = cases.folder.fixed_cases
    written = path.read_bytes() if path.is_file() else None
    after = first.files[0].after if first.files else None
    if written == after:
        return
    if rewrite and not result.failures:
        result.rewritten = True
        if after is None:
            path.unlink()
        else:
            path.write_bytes(after)
    elif after is None:
        text = "no finding of the cases offers a fix that can be applied; delete this file"
        result.failures.append(Remark(path, None, text))
    elif written is None:
        text = "missing; `distlint test-rules --rewrite` writes the cases as the fix leaves them"
        result.failures.append(Remark(path, None, text))
    else:
        text = "the fix gives something else; if it is right, `distlint test-rules --rewrite`"
        # Of a scaffold that nobody has rewritten yet, every line differs.
        untouched = TO_FILL_IN.encode() in written
        diff = "" if untouched else diff_text(path.name, written, after)
        result.failures.append(Remark(path, None, text, diff))


# What is not followed


def _tell_what_is_not_followed(cases: _Cases, report: Report, result: CasesResult) -> None:
    """Say which functions the analysis leaves out: a rule that asks for calls is silent in them anyway.

    Where the rule finds something in such a function, it reads the syntax, and nothing is said.
    """
    source = Source(str(cases.folder.cases), "cases", cases.text, cases.tree)
    model = build_model([source])
    left_out = [
        (function.qualname, function.node)
        for module in model.modules
        for function in module.all_functions
        if isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef)
        and model.summaries_of(function) is None
    ]
    found = {row.finding.place.line for row in report.findings}
    if any(not found.isdisjoint(_lines(node)) for _, node in left_out):
        return
    missed = set(cases.marked) - found
    for name, node in left_out:
        remark = cases.remark(node.lineno, _NOT_FOLLOWED.format(name=name))
        (result.notes if missed.isdisjoint(_lines(node)) else result.failures).append(remark)
