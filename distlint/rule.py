"""What a rule is, and how rules are found.

A rule is a package with everything about it in its folder. Its `__init__.py` holds the page (the
docstring) and these names:

    CODE = "DL201"                     # unique
    NAME = "wrapped-model-attribute"   # kebab-case, names the bad thing
    SEVERITY = Severity.ERROR
    STATUS = Status.STABLE
    LITERALS = ()                      # words beside those of `knowledge.literals` for which a file is read
    def check(model: Model) -> Iterator[Finding]: ...

A file is read where it holds a word of `knowledge.literals`, or one of a rule's LITERALS. A rule about
distributed code leaves them empty. One that also speaks of other code names words that files hardly have
for another reason: a common one makes every check parse every file.

`check` receives the analysed project and yields findings, each with the fix it offers.
Whether a rule has a fix follows from the findings of its cases, it is declared nowhere.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from distlint.findings import Finding, Severity

if TYPE_CHECKING:
    from distlint.analysis.model import Model

ENTRY_POINT_GROUP = "distlint.rules"


class Status(enum.Enum):
    """STABLE rules run by default; PREVIEW rules only when selected or with `preview = true`."""

    STABLE = "stable"
    PREVIEW = "preview"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as the rest of the program sees it."""

    code: str
    name: str
    severity: Severity
    status: Status
    page: str
    literals: tuple[bytes, ...]
    check: Callable[[Model], Iterator[Finding]]
    module: str

    @property
    def family(self) -> str:
        """The name of the folder that holds the rule, for instance ``wrapping``."""
        return self.module.split(".")[-2]

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]


def rule_from_module(module: ModuleType) -> Rule:
    """The rule that a module defines. Raises AttributeError where a name is missing."""
    return Rule(
        code=module.CODE,
        name=module.NAME,
        severity=module.SEVERITY,
        status=module.STATUS,
        page=inspect.cleandoc(module.__doc__ or ""),
        literals=tuple(module.LITERALS),
        check=module.check,
        module=module.__name__,
    )


class BrokenRules(Exception):
    """Why the rules of an installed package cannot be used, in one line."""


def load_rules() -> dict[str, Rule]:
    """Every registered rule by code, sorted by code.

    Raises BrokenRules where a package cannot be imported, is no package of rules, or takes a code.
    """
    from importlib import metadata  # 12 ms that a run with a catalogue in its cache saves

    rules: dict[str, Rule] = {}
    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP):
        try:
            found = [rule_from_module(module) for module in _rule_modules(entry.load())]
        except (Exception, SystemExit) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise BrokenRules(
                f"the rules of `{entry.name}` ({entry.value}) cannot be loaded: {what}; "
                "repair or uninstall the package that brings them"
            ) from error
        for rule in found:
            taken = rules.setdefault(rule.code, rule).module
            if taken != rule.module:
                raise BrokenRules(
                    f"{rule.code} is defined by {taken} and {rule.module}; "
                    "uninstall one of the two packages"
                )
    return dict(sorted(rules.items()))


def _rule_modules(root: ModuleType) -> Iterator[ModuleType]:
    if hasattr(root, "CODE"):
        yield root
        return
    for family in pkgutil.iter_modules(root.__path__, root.__name__ + "."):
        package = importlib.import_module(family.name)
        if hasattr(package, "CODE"):
            yield package
        elif family.ispkg:
            for info in pkgutil.iter_modules(package.__path__, family.name + "."):
                module = importlib.import_module(info.name)
                if hasattr(module, "CODE"):
                    yield module
