"""A setting that distlint cannot follow stops the run.

## What it does
Reports a key of `[tool.distlint]` (pyproject.toml) or distlint.toml that distlint does not know, a value
of the wrong type, a rule that does not exist, and a file that is not valid TOML. The exit code is 2.

## Why it is bad
A misspelt key that is passed over in silence means that another set of rules runs than the project
asked for.

## Example
```toml
[tool.distlint]
selct = ["DL1"]
```

## Use instead
```toml
[tool.distlint]
select = ["DL1"]
```

## Fix safety
There is no fix; the message names the nearest key or rule that exists.

## Known limits
Only the nearest settings file upwards is read.

## References
- [The `tool` table of pyproject.toml](https://packaging.python.org/en/latest/specifications/pyproject-toml/#arbitrary-tool-configuration-the-tool-table)

No cases: it is about settings files, not about code.
Not proven: it is about distlint's own settings, which no rank reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.findings import Finding, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.model import Model

CODE = "DL902"
NAME = "bad-setting"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Nothing: settings are read before there is a model. `distlint.cli` reports them."""
    return iter(())
