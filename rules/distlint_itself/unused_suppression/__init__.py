"""A suppression comment that silences nothing hides the next defect of that place.

## What it does
Reports `# distlint: ignore[...]` and `# distlint: file-ignore[...]` where no finding of the named rule
is silenced, or where no rule has that name; and comments in the words of other linters, such as
`# distlint: disable=DL101`, which silence nothing.

## Why it is bad
The comment says that a defect is known and accepted. When the defect is gone, the comment stays
behind, and silences the next one that somebody writes there.

## Example
```python
dist.barrier()  # distlint: ignore[DL101]
```
on a line that every rank reaches.

## Use instead
```python
dist.barrier()
```

## Fix safety
Safe: only the comment changes. Codes of the same comment that still silence something stay. Unsafe for
the words of other linters: the right comment silences what has been reported up to now.

## Known limits
A code is judged only in runs where its rule runs: `--select DL3` says nothing about
`ignore[DL101]`. `# noqa` comments are honoured and never reported, since other linters read them.

## References
- distlint's own comments, as the README describes them

Not proven: it is about comments; they change nothing that a rank does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.findings import Finding, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.model import Model

CODE = "DL901"
NAME = "unused-suppression"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Nothing: which comments were used is known only after all rules. See `distlint.checking`."""
    return iter(())
