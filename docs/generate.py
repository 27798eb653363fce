"""Writes what the program says into the documentation.

`docs/rules/` gets one page for each bundled rule, from its docstring, and a list of them. In the README and
the other pages,

- a block below a line `<!-- output: COMMAND -->` becomes the output of that command, run in a folder that
  holds `examples/` alone;
- a block below a line `<!-- session: SCENE -->` is a session in a folder that holds what SCENES says: what
  follows a line `$ distlint …` becomes what that command prints. The sessions of one page that name one
  scene go on in one folder.

python docs/generate.py           writes the pages, removes those of rules that are gone
python docs/generate.py --check   writes nothing; exits 1 and names what is out of date
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from distlint.codes import FAMILIES, free_code
from distlint.project.cache import VARIABLE
from distlint.rule import Rule, Status, load_rules

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/rules"
WIDTH = 96
BLOCK = re.compile(r"(<!-- output: distlint (.+?) -->\n```\w*\n).*?(```\n)", re.DOTALL)
SESSION = re.compile(r"(<!-- session: ([\w-]+) -->\n```\w*\n)(.*?)(```\n)", re.DOTALL)
COMMAND = re.compile(r"^\$ distlint (?:.*\\\n)*.*", re.MULTILINE)
"""A command of a session; a backslash at the end of a line continues it."""
BUNDLED = "distlint.rules."
LLAMA_3_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
SCENES = {
    "any-folder": {},
    "a-package": {"mypackage/__init__.py": "", "mypackage/models/__init__.py": ""},
    "a-llama-configuration": {"llama-3-8b/config.json": json.dumps(LLAMA_3_8B)},
}
"""Names of sessions, and the files that are there when they begin."""


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


def written_pages() -> list[Path]:
    """The pages that people write and that may show what commands print."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/commands/*.md")]
    return sorted(path for path in pages if "<!-- " in path.read_text(encoding="utf-8"))


def with_output(page: str) -> str:
    """`page` with the present output of the commands that it shows."""
    page = BLOCK.sub(lambda match: match[1] + output(match[2]) + match[3], page)
    with ExitStack() as stack:
        folders: dict[str, Path] = {}

        def played(match: re.Match[str]) -> str:
            if match[2] not in folders:
                folders[match[2]] = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                for name, text in SCENES[match[2]].items():
                    path = folders[match[2]] / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            return match[1] + session(match[3], folders[match[2]]) + match[4]

        return SESSION.sub(played, page)


def output(arguments: str) -> str:
    """What `distlint ARGUMENTS` prints on standard output beside the examples, as for who has nothing else of the repository."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder, "examples"))
        done = distlint(arguments.split(), Path(folder))
    if done.returncode not in (0, 1):
        raise RuntimeError(f"distlint {arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def session(block: str, folder: Path) -> str:
    """The commands of `block`, each with all that it prints in `folder` now."""
    lines: list[str] = []
    for command in COMMAND.findall(block):
        done = distlint(command.removeprefix("$ distlint ").replace("\\\n", " ").split(), folder)
        lines += [*command.splitlines(), *(done.stdout + done.stderr).splitlines()]
    return "\n".join(lines) + "\n"


def distlint(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """`distlint` as it is in this repository, run in `folder`."""
    return subprocess.run(
        [sys.executable, "-m", "distlint", *arguments],
        cwd=folder,
        timeout=120,
        env={**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def main() -> int:
    """Read the command line, and do what it says; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    only_check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as cache:
        # What one command has read, the next need not read again; nothing of earlier runs counts.
        os.environ[VARIABLE] = cache
        return _brought_up_to_date(only_check)


def _brought_up_to_date(only_check: bool) -> int:
    """Write or compare the pages; the exit code."""
    rules = bundled_rules()
    wanted = {FOLDER / f"{rule.code}.md": page(rule) for rule in rules}
    wanted[FOLDER / "README.md"] = index(rules)
    written = written_pages()
    wanted |= {path: with_output(path.read_text(encoding="utf-8")) for path in written}
    present = {path: path.read_text(encoding="utf-8") for path in [*FOLDER.glob("*.md"), *written]}
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
