"""The rules as far as choosing them needs: their modules are imported only when one runs."""

from __future__ import annotations

import importlib
from typing import Any, cast

from distlint.findings import Severity
from distlint.project.cache import Cache
from distlint.rule import Check, Rule, Status, load_rules


def known_rules(cache: Cache, engine: str) -> dict[str, Rule]:
    """Every registered rule by code, without its page; from the cache where it knows them."""
    rows = cache.load_rules(engine)
    if rows is not None:
        try:
            return {rule.code: rule for rule in map(_decode, rows)}
        except (TypeError, ValueError, AttributeError):  # damaged: written anew below
            rows = None
    rules = load_rules()
    cache.save_rules(engine, [_encode(rule) for rule in rules.values()])
    return rules


def _encode(rule: Rule) -> list[Any]:
    literals = [literal.decode("latin-1") for literal in rule.literals]
    return [rule.code, rule.name, rule.severity.value, rule.status.value, literals, rule.module]


def _decode(row: list[Any]) -> Rule:
    code, name, severity, status, literals, module = row
    return Rule(
        code=str(code),
        name=str(name),
        severity=Severity(severity),
        status=Status(status),
        page="",
        literals=tuple(literal.encode("latin-1") for literal in literals),
        check=_imported(module),
        module=str(module),
    )


def _imported(module: str) -> Check:
    """The check of a rule module, which is imported when it is first called."""
    return lambda model: cast(Check, importlib.import_module(module).check)(model)
