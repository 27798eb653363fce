"""A file that cannot be read as Python is not checked.

## What it does
Reports a file that distlint cannot turn into a syntax tree: a syntax error, bytes that are not valid
in the file's encoding, NUL bytes, code nested too deeply for Python's parser, or a file of more than
10 MiB.

## Why it is bad
No other rule says anything about such a file. Silence would look like "no findings".

## Example
```python
def train(model:
    ...
```

## Use instead
```python
def train(model):
    ...
```
A file that is not UTF-8 names its encoding in its first line, as Python itself requires:
`# -*- coding: latin-1 -*-`. A generated file that is not meant to be checked belongs into the setting
`exclude`.

## Fix safety
There is no fix.

## Known limits
distlint parses with the Python it runs on: a file with syntax that is newer than that is named in a note, and is no finding. Where more
than 1 MB of files hold nothing that any rule looks for, those files are not parsed, and a syntax error
in them is not reported. Information for a template of cookiecutter or Jinja, which is not Python yet, and for the source
of a notebook of Databricks with lines for the shell, and for a file of cells (`# %%`) with magics of IPython; for a
line that was Python before 3.7 (`print x`, `except E, e:`, `cuda(async=True)`) a warning where the file says something of torch,
else information.

## References
- [PEP 263](https://peps.python.org/pep-0263/): the encoding of source files

No cases: a file that cannot be parsed is no module of cases.
Not proven: it is about files that no rank can run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.findings import Finding, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.model import Model

CODE = "DL900"
NAME = "cannot-parse"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Nothing: a file without a tree is not in the model. `distlint.checking` reports it."""
    return iter(())
