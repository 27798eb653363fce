"""The rules as far as choosing them needs: their modules are imported only when one runs.

The modules are those that the installed entry points name; nothing that a cache says is imported.
"""

from __future__ import annotations

from typing import Any

from distlint.findings import Severity
from distlint.project.cache import Cache
from distlint.rule import LaunchCheck, Rule, Status, load_rules


def known_rules(cache: Cache, engine: str) -> dict[str, Rule]:
    """Every registered rule by code, without its page; from the cache where it knows them."""
    rows = cache.load_rules(engine)
    if rows is not None:
        registered: dict[str, Rule] = {}
        try:
            return {rule.code: rule for rule in (_decode(row, registered) for row in rows)}
        except (TypeError, ValueError, AttributeError):  # damaged: written anew below
            rows = None
    rules = load_rules()
    cache.save_rules(engine, [_encode(rule) for rule in rules.values()])
    return rules


def _encode(rule: Rule) -> list[Any]:
    literals = [literal.decode("latin-1") for literal in rule.literals]
    with_launch = rule.check_launch is not None
    return [
        rule.code,
        rule.name,
        rule.severity.value,
        rule.status.value,
        literals,
        rule.module,
        with_launch,
        rule.needs_ranks,
    ]


def _decode(row: list[Any], registered: dict[str, Rule]) -> Rule:
    """The rule of a row; `registered` is filled with all rules when the first one runs."""
    code, name, severity, status, literals, module, with_launch, needs_ranks = row
    return Rule(
        code=str(code),
        name=str(name),
        severity=Severity(severity),
        status=Status(status),
        page="",
        literals=tuple(literal.encode("latin-1") for literal in literals),
        check=lambda model: _of(str(code), registered).check(model),
        module=str(module),
        check_launch=(
            (lambda files: _launch_check_of(str(code), registered)(files)) if with_launch else None
        ),
        needs_ranks=bool(needs_ranks),
    )


def _of(code: str, registered: dict[str, Rule]) -> Rule:
    if not registered:
        registered.update(load_rules())
    return registered[code]


def _launch_check_of(code: str, registered: dict[str, Rule]) -> LaunchCheck:
    check = _of(code, registered).check_launch
    assert check is not None
    return check
