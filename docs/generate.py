"""Writes `docs/rules/`: one page for each bundled rule, from its docstring, and a list of them.

python docs/generate.py           writes the pages, removes those of rules that are gone
python docs/generate.py --check   writes nothing; exits 1 and names what is out of date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from distlint.rule import Rule, Status, load_rules

FOLDER = Path(__file__).parent / "rules"
BUNDLED = "distlint.rules."


def bundled_rules() -> list[Rule]:
    """The rules that come with distlint, by code; not those of packages installed beside it."""
    return [rule for rule in load_rules().values() if rule.module.startswith(BUNDLED)]


def page(rule: Rule) -> str:
    """The page of one rule."""
    status = ", in preview" if rule.status is Status.PREVIEW else ""
    place = rule.module.removeprefix(BUNDLED).replace(".", "/")
    return (
        f"# {rule.code} {rule.name}\n\n"
        f"*{rule.severity.value}{status} · [rules/{place}](../../rules/{place})*\n\n"
        f"{rule.page}\n"
    )


def index(rules: list[Rule]) -> str:
    """The list of all rules, family by family."""
    lines = ["# The rules", ""]
    family = ""
    for rule in rules:
        if rule.family != family:
            family = rule.family
            title = family.replace("_", " ")
            lines += [f"\n## {title}\n", "| code | name | severity | finds |", "|---|---|---|---|"]
        severity = rule.severity.value + (" (preview)" if rule.status is Status.PREVIEW else "")
        link = f"[{rule.code}]({rule.code}.md)"
        lines.append(f"| {link} | {rule.name} | {severity} | {rule.summary} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def main() -> int:
    """Write or compare the pages; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    only_check = parser.parse_args().check
    rules = bundled_rules()
    wanted = {f"{rule.code}.md": page(rule) for rule in rules} | {"README.md": index(rules)}
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    stale = sorted(
        name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)
    )
    if only_check:
        for name in stale:
            print(f"docs/rules/{name} is out of date; run `python docs/generate.py`")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    print(f"{len(rules)} rules, {len(stale)} pages written or removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
