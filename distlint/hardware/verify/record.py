"""The record of one verification: what `--json` writes and docs/hardware keeps."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distlint.hardware.verify.machine import MachineRecord
from distlint.hardware.verify.outcome import Outcome, Status
from distlint.hardware.verify.sessions import Session

SCHEMA = 1
_ABSOLUTE = re.compile(r"(?<![\w.:/])/(?:[\w.+@-]+/)+(?=[\w.+@-]+)")


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One process group: its contracts' outcomes, or why it could not be formed."""

    session: Session
    outcomes: tuple[Outcome, ...]
    problem: str | None


@dataclass(frozen=True, slots=True)
class Verification:
    """Everything that one `distlint verify` saw."""

    machine: MachineRecord
    sessions: tuple[SessionRecord, ...]
    not_formed: tuple[str, ...]
    proofs: tuple[Outcome, ...]
    rules_without_proof: tuple[str, ...]
    seconds: float
    proofs_left_out: tuple[str, ...] = ()
    """Codes whose proofs run on another backend than the one that was asked for."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All rows."""
        contracts = [outcome for record in self.sessions for outcome in record.outcomes]
        return (*contracts, *self.proofs)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The rows that failed."""
        return tuple(row for row in self.outcomes if row.status is Status.FAILED)


def as_json(verification: Verification) -> str:
    """The record, without the machine's name and without the folders of its files."""
    data = {
        "schema": SCHEMA,
        "machine": verification.machine.as_object(),
        "seconds": round(verification.seconds, 1),
        "contracts": [_session(record) for record in verification.sessions],
        "not_formed": list(verification.not_formed),
        "proofs": _rows(verification.proofs),
        "rules_without_proof": list(verification.rules_without_proof),
        "proofs_left_out": list(verification.proofs_left_out),
    }
    return json.dumps(_anonymous(data), indent=2) + "\n"


def _session(record: SessionRecord) -> dict[str, Any]:
    session = record.session
    return {
        "backend": session.backend,
        "ranks": session.ranks,
        "device": session.device,
        "gpus": session.gpus,
        "environment": dict(session.environment),
        "problem": record.problem,
        "rows": _rows(record.outcomes),
    }


def _rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            "summary": row.summary,
            "status": row.status.value,
            "reason": row.reason,
            "seconds": round(row.seconds, 2),
        }
        for row in outcomes
    ]


def _anonymous(value: Any) -> Any:
    """`value` with the host name replaced, and absolute paths cut to the file's name."""
    match value:
        case dict():
            return {key: _anonymous(item) for key, item in value.items()}
        case list():
            return [_anonymous(item) for item in value]
        case str():
            text = _ABSOLUTE.sub("", value)
            for name in {socket.gethostname(), socket.gethostname().partition(".")[0]}:
                if len(name) > 3 and name != "localhost":
                    text = text.replace(name, "HOST")
            return text
        case _:
            return value
