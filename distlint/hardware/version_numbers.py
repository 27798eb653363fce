"""Versions and the requirements of packages on each other, as far as the doctor needs them.

Release numbers only ("2.13.0+cpu" is 2.13.0): enough for `torch>=2.6`, and needs no `packaging`,
which the base install does not have.
"""

from __future__ import annotations

import re

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?")
_CLAUSE = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*([0-9][^\s,]*)\s*")

Release = tuple[int, ...]


def release(version: str) -> Release:
    """The numbers of a version: 2.13.0+cpu is (2, 13, 0), 2.6.0a0+git is (2, 6, 0)."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version.strip())
    return tuple(map(int, match[1].split("."))) if match else ()


def normalised(name: str) -> str:
    """The name of a distribution as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(line: str) -> tuple[str, str]:
    """Name (normalised) and clauses of a requirement, its marker dropped."""
    match = _REQUIREMENT.match(line.partition(";")[0])
    return (normalised(match[1]), match[2].strip()) if match else ("", "")


def satisfies(version: str, clauses: str) -> bool:
    """Whether a version is within `>=2.6,<3`; clauses that are not understood are taken as met."""
    have = release(version)
    if not have:
        return True
    return all(_met(have, match[1], match[2]) for match in _CLAUSE.finditer(clauses))


def _met(have: Release, operator: str, text: str) -> bool:
    wildcard = text.endswith(".*")
    want = release(text)
    size = max(len(have), len(want))
    a, b = have + (0,) * (size - len(have)), want + (0,) * (size - len(want))
    match operator:
        case "==" | "===":
            return have[: len(want)] == want if wildcard else a == b
        case "!=":
            return have[: len(want)] != want if wildcard else a != b
        case ">=":
            return a >= b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case "<":
            return a < b
        case _:  # ~=2.6.1 is >=2.6.1 and ==2.6.*
            return a >= b and have[: len(want) - 1] == want[:-1]
