"""The marks on lines of cases and proofs: `# expect: DL101` says that this line has that finding."""

from __future__ import annotations

import re

from distlint.codes import CODE

_EXPECT = re.compile(rf"#\s*expect:\s*(?P<codes>{CODE}(?:\s*,\s*{CODE})*)")

Expected = tuple[tuple[int, tuple[str, ...]], ...]
"""Each marked line (from 1) with the codes marked there, in source order."""


def expectations(text: str) -> Expected:
    """The marks in a text."""
    return tuple(
        (number, tuple(re.findall(CODE, match["codes"])))
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _EXPECT.search(line))
    )
