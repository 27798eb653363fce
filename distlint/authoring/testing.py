"""The test of one rule: its folder, its cases, its proof."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field

from distlint.authoring.cases import run_cases
from distlint.authoring.folders import BrokenRule, RuleFolder, loaded
from distlint.authoring.launch_cases import run_launch_cases
from distlint.authoring.remarks import Remark
from distlint.authoring.structure import (
    Counts,
    counts_of,
    proof_problem,
    structure_remarks,
    text_of,
)
from distlint.hardware.verify.outcome import Status
from distlint.hardware.verify.proof_runs import Proof, run_proof
from distlint.pages import reason_for_no_cases, reason_for_no_proof
from distlint.rule import Rule


@dataclass(frozen=True, slots=True)
class Parts:
    """Which parts of the test run, beside that of the structure."""

    cases: bool = True
    proof: bool = True
    rewrite: bool = False


@dataclass(slots=True)
class Verdict:
    """What the test of one rule showed. `facts` are short phrases about what was there and held."""

    folder: RuleFolder
    rule: Rule | None = None
    facts: list[str] = field(default_factory=list)
    failures: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)


def verdict_of(folder: RuleFolder, known: Mapping[str, Rule], parts: Parts) -> Verdict:
    """Test the rule in a folder, which is registered."""
    verdict = Verdict(folder)
    try:
        verdict.rule = rule = loaded(folder)
    except BrokenRule as error:
        verdict.failures.append(Remark(folder.page, None, str(error)))
        return verdict
    verdict.failures += structure_remarks(folder, rule, known)
    if parts.cases:
        _cases(verdict, rule, known, rewrite=parts.rewrite)
    if parts.proof:
        _proof(verdict, rule)
    return verdict


def _cases(verdict: Verdict, rule: Rule, known: Mapping[str, Rule], *, rewrite: bool) -> None:
    folder = verdict.folder
    if folder.launch_cases.is_dir():
        projects = run_launch_cases(folder, rule, known)
        verdict.failures += projects.failures
        verdict.facts.append(
            f"projects: {projects.bugs} with the bug, {projects.look_alikes} without"
        )
    if not folder.cases.is_file():
        if reason := reason_for_no_cases(rule.page):
            verdict.facts.append(f"no cases: {reason}")
        return
    result = run_cases(folder, rule, known, rewrite=rewrite)
    verdict.failures += result.failures
    verdict.notes += result.notes
    try:
        counts = counts_of(text_of(folder.cases), rule.code)
    except (SyntaxError, ValueError):
        counts = Counts(0, 0)
    verdict.facts += [f"bugs: {counts.bugs}", f"look-alikes: {counts.look_alikes}"]
    verdict.facts.append(f"fixes: {result.fixes}")
    if result.rewritten:
        verdict.facts.append(f"{folder.fixed_cases.name} rewritten")


def _proof(verdict: Verdict, rule: Rule) -> None:
    path = verdict.folder.proof
    if not path.is_file():
        if reason := reason_for_no_proof(rule.page):
            verdict.facts.append(f"not proven: {reason}")
        return
    if proof_problem(verdict.folder, rule):
        return  # a remark on the structure
    if importlib.util.find_spec("torch") is None:
        text = "not run: needs torch: pip install 'torch>=2.4' accelerate"
        verdict.notes.append(Remark(path, None, text))
        return
    outcome = run_proof(Proof(rule.code, rule.name, path))
    match outcome.status:
        case Status.HELD:
            verdict.facts.append(f"proof held in {outcome.seconds:.1f} s")
        case Status.NOT_CHECKED:
            verdict.notes.append(Remark(path, None, f"not run: {outcome.reason}"))
        case _:
            remark = Remark(
                path, None, f"the proof does not hold: {outcome.reason}", outcome.details
            )
            verdict.failures.append(remark)
