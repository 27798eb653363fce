"""Names for findings that survive edits elsewhere in the file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from distlint.findings import Finding


def fingerprints(
    findings: Sequence[Finding], paths: Sequence[str], lines: Sequence[str]
) -> list[str]:
    """One stable name for each of `findings` (in the order of the file).

    It is made of the code, the path below the project's root (`paths`), the text of the line
    without its spaces (`lines`), and a count where the three are the same: neither lines added above
    nor another indentation change it, nor the directory distlint is run from.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    result: list[str] = []
    for finding, path, line in zip(findings, paths, lines, strict=True):
        key = (finding.code, path, "".join(line.split()))
        seen[key] += 1
        payload = "\0".join((*key, str(seen[key])))
        result.append(hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()[:16])
    return result
