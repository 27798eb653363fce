"""Writes what the program says into the documentation.

`docs/rules/` gets one page for each bundled rule, from its docstring, and a list of them. In the README,
each block below a line `<!-- output: COMMAND -->` becomes the output of that command.

python docs/generate.py           writes the pages, removes those of rules that are gone
python docs/generate.py --check   writes nothing; exits 1 and names what is out of date
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from distlint.codes import FAMILIES, free_code
from distlint.rule import Rule, Status, load_rules

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/rules"
README = ROOT / "README.md"
WIDTH = 96
BLOCK = re.compile(r"(<!-- output: distlint (.+?) -->\n```\w*\n).*?(```\n)", re.DOTALL)
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
    lines = ["# The rules"]
    for family in FAMILIES:
        free = free_code(family.prefix, [rule.code for rule in rules])
        lines += [
            "",
            f"## {family.title}",
            "",
            family.subject[0].upper() + family.subject[1:] + ".",
        ]
        own = [rule for rule in rules if rule.family == family.folder]
        if own:
            lines += ["", "| code | name | severity | finds |", "|---|---|---|---|"]
        for rule in own:
            severity = rule.severity.value + (" (preview)" * (rule.status is Status.PREVIEW))
            link = f"[{rule.code}]({rule.code}.md)"
            lines.append(f"| {link} | {rule.name} | {severity} | {rule.summary} |")
        if free:
            lines += ["", f"The next free code is {free}."]
    return "\n".join(lines) + "\n"


def readme() -> str:
    """The README with the present output of the commands that it shows."""
    return BLOCK.sub(
        lambda match: match[1] + output(match[2]) + match[3], README.read_text(encoding="utf-8")
    )


def output(arguments: str) -> str:
    """What `distlint ARGUMENTS` prints on standard output, run in the root of the repository."""
    done = subprocess.run(
        [sys.executable, "-m", "distlint", *arguments.split(), "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"distlint {arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def main() -> int:
    """Write or compare the pages; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    only_check = parser.parse_args().check
    rules = bundled_rules()
    wanted = {FOLDER / f"{rule.code}.md": page(rule) for rule in rules}
    wanted |= {FOLDER / "README.md": index(rules), README: readme()}
    present = {path: path.read_text(encoding="utf-8") for path in [*FOLDER.glob("*.md"), README]}
    stale = sorted(
        path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path)
    )
    if only_check:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date; run `python docs/generate.py`")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for path in stale:
        if path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    print(f"{len(rules)} rules, {len(stale)} pages written or removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
