"""What docs/proofs.md says of how proofs are repaired, and the reason on the page where no fix of distlint does it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOFS = sorted((ROOT / "rules").glob("*/*/proof.py"))


def repaired_by(proof: Path) -> str:
    found = re.search(
        r"^Fix: (safe|unsafe|by hand)$", proof.read_text(encoding="utf-8"), re.MULTILINE
    )
    return found[1] if found else "safe"


def test_the_counts_on_the_page() -> None:
    count = Counter(map(repaired_by, PROOFS))
    text = " ".join((ROOT / "docs" / "proofs.md").read_text(encoding="utf-8").split())
    own = count["safe"] + count["unsafe"]
    said = f"of {len(PROOFS)} proofs by distlint's own fix in {own}, safe fixes in {count['safe']} of them"
    assert f"{said}, and by hand in {count['by hand']}, whose rules say" in text


def test_a_rule_that_is_repaired_by_hand_says_why() -> None:
    for proof in PROOFS:
        if repaired_by(proof) == "by hand":
            page = (proof.parent / "__init__.py").read_text(encoding="utf-8")
            section = re.search(r"^## Fix safety\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
            assert section is not None, proof
            reason = " ".join(section[1].split())
            assert re.search(r"[Ss]hown", reason) and ":" in reason, proof
