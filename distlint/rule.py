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

`check` receives the analysed project and yields findings, each with the fix it offers. A rule about the
scripts and configurations beside the code has `check_launch(files: LaunchFiles)`, with `check` or without.
Whether a rule has a fix follows from the findings of its cases, it is declared nowhere. What a rule finds is
information where only programs of one process come; a rule whose bug is there on one process as well says
`NEEDS_RANKS = False`, and so does each of another package that does not say `NEEDS_RANKS = True`.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from distlint.findings import Finding, Severity
from distlint.records import dataclass
from distlint.registering import only_bundled

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from distlint.analysis.model import Model
    from distlint.launch.project import LaunchFiles

ENTRY_POINT_GROUP = "distlint.rules"
BUNDLED = "distlint.rules"
"""The package of the rules that come with distlint."""

Check: TypeAlias = "Callable[[Model], Iterator[Finding]]"
"""What finds: the function `check` of a rule module."""
LaunchCheck: TypeAlias = "Callable[[LaunchFiles], Iterator[Finding]]"
"""What finds in scripts and configurations: the function `check_launch` of a rule module."""


class Status(enum.Enum):
    """STABLE rules run by default; PREVIEW rules only when selected or with `preview = true`, and warn at most."""

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
    check: Check
    module: str
    check_launch: LaunchCheck | None = None
    needs_ranks: bool = False
    """Whether what it finds goes wrong only where several ranks run."""
    documentation: str = ""
    """The URL of the pages, where the package that brings the rule names one in its metadata."""

    @property
    def family(self) -> str:
        """The name of the folder that holds the rule, for instance ``wrapping``."""
        return self.module.split(".")[-2]

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]


def rule_from_module(module: ModuleType, documentation: str = "") -> Rule:
    """The rule that a module defines; `documentation` is where its pages are. Raises AttributeError where a name is missing."""
    return Rule(
        code=module.CODE,
        name=module.NAME,
        severity=module.SEVERITY,
        status=module.STATUS,
        page=inspect.cleandoc(module.__doc__ or ""),
        literals=tuple(module.LITERALS),
        check=getattr(module, "check", _finds_nothing),
        module=module.__name__,
        check_launch=getattr(module, "check_launch", None),
        needs_ranks=getattr(module, "NEEDS_RANKS", module.__name__.startswith(f"{BUNDLED}.")),
        documentation=documentation,
    )


def _finds_nothing(_: Model) -> Iterator[Finding]:
    """The check of a rule that looks at no code."""
    return iter(())


class BrokenRules(Exception):
    """Why the rules of an installed package cannot be used, in one line."""


def load_rules() -> dict[str, Rule]:
    """Every rule by code, sorted by code: the bundled ones and all that are registered.

    Raises BrokenRules where a package cannot be imported, is no package of rules, or takes a code.
    """
    rules: dict[str, Rule] = {}
    for entry in _registered(tuple(_search_path())):
        try:
            found = _rules_of(entry.load(), entry)
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


def _search_path() -> Iterator[tuple[str, int]]:
    """Where packages are looked for, and when one was last installed or removed there."""
    for entry in sys.path:
        try:
            yield entry, Path(entry).stat().st_mtime_ns
        except OSError:
            yield entry, 0


class _Bundled:
    """The entry point of the bundled rules, where nobody asks which packages are installed."""

    name = "distlint"
    value = BUNDLED
    dist = None

    def load(self) -> ModuleType:
        """The package of the rules."""
        return importlib.import_module(BUNDLED)


_BUNDLED = _Bundled()


@lru_cache(maxsize=1)
def _registered(_: tuple[tuple[str, int], ...]) -> tuple[EntryPoint | _Bundled, ...]:
    """The packages of rules: each once, the bundled one in any case. A checkout that was not installed has no entry point.

    A process asks again which packages are installed where that has changed.
    """
    if only_bundled(ENTRY_POINT_GROUP, BUNDLED):
        return (_BUNDLED,)
    from importlib import metadata  # 25 ms that a check without other rules saves

    entries = {entry.value: entry for entry in metadata.entry_points(group=ENTRY_POINT_GROUP)}
    found = tuple(entries.values())
    return found if BUNDLED in entries else (*found, _BUNDLED)


def _documentation(entry: EntryPoint | _Bundled) -> str:
    """The `Documentation` URL among the project URLs of the package that registers `entry`."""
    urls = (entry.dist.metadata.get_all("Project-URL") if entry.dist else None) or []
    for line in urls:
        label, _, url = line.partition(", ")
        if label.lower() == "documentation":
            return str(url)
    return ""


@cache
def _rules_of(root: ModuleType, entry: EntryPoint | _Bundled) -> tuple[Rule, ...]:
    """The rules of a package, which stay what they were when the process imported it."""
    documentation = _documentation(entry)
    return tuple(rule_from_module(module, documentation) for module in _rule_modules(root))


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
