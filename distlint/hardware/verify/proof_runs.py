"""Running the proofs of the installed rules, several at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from distlint.hardware.verify.outcome import Outcome, Status
from distlint.pages import reason_for_no_proof
from distlint.proving.declaration import DeclarationError, read_declaration
from distlint.proving.steps import (
    as_written,
    found_by_check,
    right_when_fixed,
    unmet_requirement,
)


@dataclass(frozen=True, slots=True)
class Proof:
    """One proof of a rule: the rule's code and name, and the script."""

    code: str
    rule: str
    path: Path


def bundled() -> tuple[list[Proof], list[str]]:
    """The proofs of all registered rules, and the codes of those that have none and give no reason."""
    from importlib import import_module

    from distlint.rule import load_rules

    proofs, without = [], []
    for code, rule in load_rules().items():
        module = import_module(rule.module)
        path = Path(module.__file__ or "").with_name("proof.py")
        if path.is_file():
            proofs.append(Proof(code, rule.name, path))
        elif reason_for_no_proof(rule.page) is None:
            without.append(code)
    return proofs, without


def run_proofs(
    proofs: Sequence[Proof], report: Callable[[Outcome], None], jobs: int | None = None
) -> list[Outcome]:
    """Run the proofs, `jobs` at a time (one for each two cores); in the order given.

    `report` is called with each outcome as it comes.
    """
    outcomes: dict[int, Outcome] = {}
    pool = ThreadPoolExecutor(jobs or max(1, (os.cpu_count() or 2) // 2))
    try:
        running = {pool.submit(run_proof, proof): index for index, proof in enumerate(proofs)}
        for done in as_completed(running):
            outcomes[running[done]] = done.result()
            report(done.result())
    except BaseException:  # asked to stop: those that run are ended by the workspace
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return [outcomes[index] for index in range(len(proofs))]


def on_backend(proofs: Sequence[Proof], backend: str | None) -> tuple[list[Proof], list[str]]:
    """The proofs that use this backend (None: any), and the codes of the others.

    A proof runs on gloo, on the CPU, unless its script declares that it needs a GPU.
    """
    if backend is None:
        return list(proofs), []
    uses = {proof: "nccl" if _needs_gpu(proof) else "gloo" for proof in proofs}
    return (
        [proof for proof in proofs if uses[proof] == backend],
        [proof.code for proof in proofs if uses[proof] != backend],
    )


def _needs_gpu(proof: Proof) -> bool:
    try:
        return not {"cuda", "nccl"}.isdisjoint(read_declaration(proof.path).requires)
    except DeclarationError:  # its own row says so
        return False


def run_proof(proof: Proof) -> Outcome:
    """The three steps of one proof; the first that does not hold is the outcome."""
    name = f"{proof.code} {proof.rule}"
    try:
        declaration = read_declaration(proof.path)
    except DeclarationError as error:
        return Outcome(name, "", Status.FAILED, str(error))
    summary = f"on {declaration.ranks} ranks: {declaration.outcome.value}; right after its fix"
    if (missing := unmet_requirement(declaration)) is not None:
        return Outcome(name, summary, Status.NOT_CHECKED, missing)
    seconds = 0.0
    seen = []
    for run_step in (as_written, found_by_check, right_when_fixed):
        step = run_step(declaration)
        seconds += step.execution.seconds if step.execution else 0.0
        if not step.held:
            output = [end.output for end in step.execution.ranks] if step.execution else []
            reason = f"{step.name}: {step.seen}"
            return Outcome(name, summary, Status.FAILED, reason, "\n".join(output), seconds)
        seen.append(step.seen)
    return Outcome(name, summary, Status.HELD, "; ".join(seen), seconds=seconds)
