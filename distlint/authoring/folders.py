"""The folders of rules: found on disk, imported one by one, registered while they are tested.

A folder is a rule's where its `__init__.py` assigns CODE. Finding them imports nothing; testing does.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import sys
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Final

from distlint.findings import Severity
from distlint.project.files import discover
from distlint.project.modules import forget_packages, module_name, package_root
from distlint.project.settings import Settings, SettingsTree
from distlint.rule import ENTRY_POINT_GROUP, Rule, Status, load_rules, rule_from_module

BUNDLED = "distlint.rules"

_CODE = re.compile(r"^CODE(?:: [^=\n]+)? = ", re.MULTILINE)

_KINDS: Final = {
    "CODE": str,
    "NAME": str,
    "SEVERITY": Severity,
    "STATUS": Status,
    "LITERALS": tuple,
}
"""What a rule's module has to define."""

_CHECKS: Final = ("check", "check_launch")
"""Of which it has one at least."""

_NAMES: Final = ", ".join([*_KINDS, "check"])


class BrokenRule(Exception):
    """Why a rule cannot be loaded, in one line."""


@dataclass(frozen=True, slots=True)
class RuleFolder:
    """The folder of one rule, and the name under which Python imports it."""

    path: Path
    module: str
    root: Path
    """The directory that has to be on the path for that."""

    @property
    def bundled(self) -> bool:
        """Whether it is one of distlint's own rules."""
        return self.module.startswith(f"{BUNDLED}.")

    @property
    def page(self) -> Path:
        """The file with the page and the check."""
        return self.path / "__init__.py"

    @property
    def cases(self) -> Path:
        """The file with the marked bugs and the look-alikes."""
        return self.path / "cases.py"

    @property
    def fixed_cases(self) -> Path:
        """The cases as the fix leaves them."""
        return self.path / "cases.fixed.py"

    @property
    def launch_cases(self) -> Path:
        """The folder with scripts and configurations, marked and not."""
        return self.path / "cases"

    @property
    def proof(self) -> Path:
        """The script that goes wrong on real processes."""
        return self.path / "proof.py"


def bundled_root() -> Path:
    """The folder of the bundled rules."""
    return Path(next(iter(importlib.import_module(BUNDLED).__path__))).resolve()


def rule_folders(paths: Iterable[Path]) -> list[RuleFolder]:
    """The rules whose folders are at, below or around (for a file in one) `paths`, sorted by path."""
    starts = [path.parent if path.is_file() else path for path in map(Path.resolve, paths)]
    pages = (
        Path(file.path)
        for file in discover(starts, SettingsTree(Settings(), fixed=Settings())).files
    )
    found = {page.parent for page in pages if page.name == "__init__.py" and _assigns_code(page)}
    return [_folder(path) for path in sorted(found)]


def _assigns_code(page: Path) -> bool:
    """Whether a file is a rule's, by its text: one that cannot be parsed is to be reported, too."""
    try:
        with tokenize.open(page) as stream:
            return _CODE.search(stream.read()) is not None
    except (OSError, SyntaxError, UnicodeDecodeError):
        return False


def _folder(path: Path) -> RuleFolder:
    own = bundled_root()
    if path.is_relative_to(own):
        parts = path.relative_to(own).parts
        return RuleFolder(path, ".".join((BUNDLED, *parts)), own.parent)
    forget_packages()
    return RuleFolder(
        path, module_name(str(path / "__init__.py"))[0], Path(package_root(str(path)))
    )


@contextlib.contextmanager
def registered(folders: Iterable[RuleFolder]) -> Iterator[Mapping[str, Rule]]:
    """Let this process and those it starts find the rules, as if their packages were installed.

    Gives all rules by code, without those of `folders` that cannot be loaded or whose code is taken.
    Raises BrokenRule where one of distlint's own or of an installed package is among these: then no
    rule can be used.
    """
    with tempfile.TemporaryDirectory(prefix="distlint-rules-") as name:
        roots = dict.fromkeys(str(folder.root) for folder in folders if not folder.bundled)
        with _on_the_path([name, *roots]):
            _raise_for_own(folders)
            try:
                known = load_rules()
            except Exception as error:
                what = " ".join(str(error).split())
                raise BrokenRule(f"the rules cannot be loaded: {what}") from error
            rows = []
            for folder in folders:
                with contextlib.suppress(BrokenRule):  # its verdict says so
                    rule = loaded(folder)
                    if known.setdefault(rule.code, rule).module == rule.module:
                        rows.append(f"{rule.code} = {rule.module}")
            metadata = Path(name) / "rules_under_test-0.dist-info"
            metadata.mkdir()
            (metadata / "METADATA").write_text(
                "Metadata-Version: 2.1\nName: rules-under-test\nVersion: 0\n", encoding="utf-8"
            )
            (metadata / "entry_points.txt").write_text(
                "\n".join([f"[{ENTRY_POINT_GROUP}]", *rows, ""]), encoding="utf-8"
            )
            yield known


def _raise_for_own(folders: Iterable[RuleFolder]) -> None:
    """Say which of distlint's own rules cannot be loaded: no other loads beside it."""
    for folder in folders:
        if folder.bundled:
            try:
                loaded(folder)
            except BrokenRule as error:
                raise BrokenRule(f"{folder.page}: {error}") from error


@contextlib.contextmanager
def _on_the_path(directories: list[str]) -> Iterator[None]:
    """Put directories on Python's path, in this process and in those it starts.

    What is imported meanwhile is forgotten at the end: another package of the name may come next.
    """
    imported = set(sys.modules)
    before = os.environ.get("PYTHONPATH")
    sys.path[:0] = directories
    os.environ["PYTHONPATH"] = os.pathsep.join([*directories, *([before] if before else [])])
    try:
        yield
    finally:
        for directory in directories:
            sys.path.remove(directory)
        for name in set(sys.modules) - imported:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(tuple(directories)):
                del sys.modules[name]
        importlib.invalidate_caches()
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def loaded(folder: RuleFolder) -> Rule:
    """Import a rule. Raises BrokenRule, which says what is wrong with it and where."""
    try:
        module = importlib.import_module(folder.module)
    except SyntaxError as error:
        raise BrokenRule(f"not Python: {error.msg} at line {error.lineno}") from error
    except (Exception, SystemExit) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise BrokenRule(f"cannot be imported: {what}") from error
    for name, kind in _KINDS.items():
        if not isinstance(getattr(module, name, None), kind):
            raise BrokenRule(f"{name} is missing or is no {kind.__name__}; a rule has {_NAMES}")
    checks = [getattr(module, name) for name in _CHECKS if hasattr(module, name)]
    if not checks or not all(isinstance(check, FunctionType) for check in checks):
        raise BrokenRule(f"check is missing or is no function; a rule has {_NAMES}")
    if not all(isinstance(word, bytes) for word in module.LITERALS):
        raise BrokenRule('LITERALS holds something else than bytes: write words as b"word"')
    return rule_from_module(module)
