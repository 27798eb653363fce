"""The folder of a new rule: a page with its sections, and a small rule that works, to be rewritten.

What stands there is a true rule (a barrier that only some ranks call): its cases, its fix and its proof
hold as they are, so that what an author changes is tested from the first minute on.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from distlint.authoring.folders import bundled_root
from distlint.codes import FAMILIES, OWN, family_of, free_code, is_code, is_name
from distlint.project.modules import forget_packages, module_name

_PAGE: Final = '''\
"""FILL IN: what the rule finds, in one sentence.

## What it does
FILL IN: which code is reported.

## Why it is bad
FILL IN: what each rank does at run time, and what is lost.

## Example
```python
if dist.get_rank() == 0:  # FILL IN: the smallest example
    dist.barrier()
```

## Use instead
```python
dist.barrier()  # FILL IN: the same, right
```

## Fix safety
FILL IN: safe, unsafe or shown only, and why.

## Known limits
FILL IN: what is not seen, and what is left alone on purpose.

## References
- FILL IN: the library, its version, file and line, or the place of a real bug
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.edits import Delete
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

CODE = "{code}"
NAME = "{name}"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
# Words for which a file is read, beside those that only distributed code holds.
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """FILL IN: what is reported."""
    for call in model.calls("torch.distributed.barrier"):
        if not call.guarded_by_rank:
            continue
        site = call.site
        guards = tuple(related(g.module, g.node, "the rank is asked here") for g in site.guards)
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "Some ranks wait in `barrier()`, and the others never come. Call it on all ranks.",
            place_of(site.module, site.node),
            guards,
            Fix(Applicability.UNSAFE, "Drop the barrier", (Delete(span_of(site.statement)),)),
        )
'''

_CASES: Final = '''\
"""FILL IN: what these cases are about."""

import torch
import torch.distributed as dist

# Bugs


def only_on_rank_0(state, path):
    if dist.get_rank() == 0:
        torch.save(state, path)
        dist.barrier()  # expect: {code}


def after_the_others_left(state):
    if dist.get_rank() != 0:
        return None
    dist.barrier()  # expect: {code}
    return state


# Correct


def on_all_ranks(state, path):
    if dist.get_rank() == 0:
        torch.save(state, path)
    dist.barrier()


def where_there_are_several(state):
    if dist.is_initialized():
        dist.barrier()
    return state
'''

_FIXED: Final = _CASES.replace("dist.barrier()  # expect", "# expect")

_PROOF: Final = '''\
"""Goes wrong on 2 ranks: hangs.
Fix: unsafe

FILL IN: what each rank does. The first line may also say `fails` or `wrong result`.
"""

from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
if dist.get_rank() == 0:
    dist.barrier()  # expect: {code}
dist.destroy_process_group()
'''


class Refused(Exception):
    """Why a rule is not written, and what to do, in one line."""


@dataclass(frozen=True, slots=True)
class NewRule:
    """A rule that is to be written, and where."""

    code: str
    name: str
    folder: Path

    @property
    def package(self) -> str:
        """The dotted name of the package that holds the folder, once it is written."""
        forget_packages()
        return module_name(str(self.folder.resolve().parent / "__init__.py"))[0]


def own_rule(code: str, name: str, taken: Collection[str]) -> NewRule:
    """A rule of distlint itself. Raises Refused where that cannot be."""
    _check(code, name, taken)
    root = bundled_root()
    if not (root.parent / "pyproject.toml").is_file():
        raise Refused(
            "this distlint is no checkout of its repository; "
            f"a rule of your own: `distlint new-rule HOUSE001 {name} --into PACKAGE`"
        )
    family = family_of(code)
    if family is None:
        prefixes = ", ".join(f"{each.prefix}xx {each.folder}" for each in FAMILIES)
        raise Refused(f"{code} is of no family; distlint's are {prefixes}; others take --into")
    return NewRule(code, name, root / family.folder / name.replace("-", "_"))


def third_party_rule(code: str, name: str, into: Path, taken: Collection[str]) -> NewRule:
    """A rule of the package in the directory `into`. Raises Refused where that cannot be."""
    _check(code, name, taken)
    if code.startswith(OWN):
        raise Refused(f"codes with {OWN} are distlint's own; take letters of yours, as in HOUSE001")
    if into.is_file():
        raise Refused(f"{into} is a file; --into names the directory of a package")
    if not into.resolve().name.isidentifier():
        raise Refused(f"{into.resolve().name!r} is no name for a Python package; rename it")
    return NewRule(code, name, into / name.replace("-", "_"))


def _check(code: str, name: str, taken: Collection[str]) -> None:
    """`taken` are the codes and names of all rules."""
    if not is_code(code):
        raise Refused(f"{code!r} is no code; a code is two or more capitals and three digits")
    if not is_name(name):
        raise Refused(
            f"{name!r} is no name; two or more lower-case words with hyphens name the bug"
        )
    if code in taken:
        prefix = re.sub(r"\d\d$", "", code)
        free = free_code(prefix, [word for word in taken if is_code(word)])
        hint = f"; {free} is free" if free else ""
        raise Refused(f"{code} is taken{hint} (`distlint rules` lists them)")
    if name in taken:
        raise Refused(f"a rule is called {name!r} already; choose another name")


def write_rule(rule: NewRule) -> list[Path]:
    """Write the files of a new rule, and say which. Raises Refused where they cannot be written."""
    texts = {"__init__.py": _PAGE, "cases.py": _CASES, "cases.fixed.py": _FIXED, "proof.py": _PROOF}
    texts = {name: text.replace("{code}", rule.code) for name, text in texts.items()}
    texts["__init__.py"] = texts["__init__.py"].replace("{name}", rule.name)
    try:
        rule.folder.mkdir(parents=True)
        package = rule.folder.parent / "__init__.py"
        written = [] if package.exists() else [package]
        for path in written:
            path.write_text('"""House rules for distlint."""\n', encoding="utf-8")
        for name, text in texts.items():
            written.append(rule.folder / name)
            written[-1].write_text(text, encoding="utf-8")
    except FileExistsError:
        raise Refused(f"{rule.folder} exists already; choose another name") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Refused(f"{error.filename or rule.folder}: {reason}") from error
    return written
