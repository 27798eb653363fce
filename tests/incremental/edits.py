"""Edits of a project at random: after each, a check with a warm cache must say what one without says.

    python -m tests.incremental.edits 500 [PROJECT …]

makes so many edits in copies of packages that are installed here, or of those folders, and says where the two
differ; with `--in-an-editor`, what a session says that stays open while nothing is saved. It is seeded: a number that
failed fails again.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from distlint.checking import check
from distlint.cli.inputs import Inputs, prepare
from distlint.project.cache import encode_finding
from distlint.reporting.report import Report
from distlint.server.session import Session

Said = list[object]
"""What a check says of a file, or of all."""

PACKAGES: Mapping[str, Sequence[str]] = {
    "accelerate": ("state.py", "optimizer.py", "scheduler.py", "test_utils/scripts"),
    "transformers": (
        "trainer.py",
        "trainer_utils.py",
        "trainer_pt_utils.py",
        "integrations/fsdp.py",
    ),
    "peft": ("tuners/lora", "utils/save_and_load.py"),
    "torch": ("distributed/optim", "distributed/algorithms/model_averaging", "distributed/nn"),
    "torch.distributed": ("tensor/parallel", "elastic/agent", "launcher"),
}
"""Parts of installed packages that a check takes a second for, or less."""


def said(folder: Path, paths: Sequence[str], cache: Path | None) -> dict[str, Said]:
    """What a check of `paths` says, by file; what is of no file under the empty name."""
    with _inside(folder):
        return _by_file(check(prepare(_everything(paths, cache)).requests))


def _everything(paths: Sequence[str], cache: Path | None) -> Inputs:
    return Inputs(
        tuple(paths),
        select=("ALL",),
        preview=True,
        no_cache=cache is None,
        cache_dir=str(cache) if cache else None,
    )


def _by_file(report: Report) -> dict[str, Said]:
    found: dict[str, Said] = {}
    for row in report.findings:
        what = [encode_finding(row.finding), row.fingerprint]
        found.setdefault(row.finding.place.path, []).append(what)
    for problem in report.problems:
        found.setdefault(problem.path, []).append(problem.reason)
    for text in [*report.notes, *report.given_up]:
        found.setdefault(text.partition(": ")[0], []).append(text)
    return {path: sorted(rows, key=repr) for path, rows in found.items()}


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@dataclass
class Editor:
    """A project that is edited, a file at a time, as a person might."""

    folder: Path
    random: random.Random
    number: int = 0

    def edit(self) -> str:
        """One edit; what was done, in a line."""
        self.number += 1
        edit = self.random.choice(_EDITS)
        path = self.random.choice(self.files())
        what = edit(self, path)
        return f"{self.number}. {edit.__name__} {path.relative_to(self.folder)}: {what}"

    def files(self) -> list[Path]:
        return sorted(self.folder.rglob("*.py"))

    def functions(self, path: Path) -> list[ast.FunctionDef]:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError:
            return []
        found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        return [node for node in found if node.body[0].lineno > node.lineno]

    def insert(self, path: Path, statement: str) -> str:
        """A statement at the start of a function, or at the end of the file."""
        lines = path.read_text(encoding="utf-8").split("\n")
        functions = self.functions(path)
        if not functions:
            lines += statement.split("\n")
        else:
            first = self.random.choice(functions).body[0]
            indent = " " * first.col_offset
            at = first.lineno - 1
            lines[at:at] = [indent + line for line in statement.split("\n")]
        path.write_text("\n".join(lines), encoding="utf-8")
        return statement


def plain_statement(editor: Editor, path: Path) -> str:
    return editor.insert(path, f"print('edit {editor.number}')")


def collective(editor: Editor, path: Path) -> str:
    return editor.insert(path, "torch.distributed.barrier()")


def guard(editor: Editor, path: Path) -> str:
    condition = editor.random.choice(["get_rank() == 0", "get_rank() != 0", "is_initialized()"])
    action = editor.random.choice(
        ["torch.distributed.barrier()", "torch.save({}, 'model.pt')", "return None", "print(1)"]
    )
    if not editor.functions(path) and action.startswith("return"):
        action = "print(2)"
    return editor.insert(path, f"if torch.distributed.{condition}:\n    {action}")


def call_of_another(editor: Editor, path: Path) -> str:
    """A call of a function of another file, with its import."""
    other = editor.random.choice(editor.files())
    functions = [each for each in editor.functions(other) if each.col_offset == 0]
    if not functions or other == path:
        return "nothing"
    name = editor.random.choice(functions).name
    module = ".".join(other.relative_to(editor.folder).with_suffix("").parts)
    module = module.removesuffix(".__init__")
    return editor.insert(path, f"from {module} import {name}\n{name}()")


def renamed_function(editor: Editor, path: Path) -> str:
    return _with_header(editor, path, lambda name: f"def {name}_{editor.number}(")


def signature(editor: Editor, path: Path) -> str:
    return _with_header(editor, path, lambda name: f"def {name}(rank_{editor.number}=None, ")


def _with_header(editor: Editor, path: Path, header: Callable[[str], str]) -> str:
    functions = editor.functions(path)
    if not functions:
        return "nothing"
    chosen = editor.random.choice(functions)
    lines = path.read_text(encoding="utf-8").split("\n")
    old, at = f"def {chosen.name}(", chosen.lineno - 1
    lines[at] = lines[at].replace(old, header(chosen.name))
    path.write_text("\n".join(lines), encoding="utf-8")
    return chosen.name


def moved_function(editor: Editor, path: Path) -> str:
    """A function of the module goes to the end of another file."""
    functions = [each for each in editor.functions(path) if each.col_offset == 0]
    other = editor.random.choice(editor.files())
    if not functions or other == path:
        return "nothing"
    chosen = editor.random.choice(functions)
    lines = path.read_text(encoding="utf-8").split("\n")
    first = min([chosen.lineno, *(each.lineno for each in chosen.decorator_list)]) - 1
    taken = lines[first : chosen.end_lineno]
    del lines[first : chosen.end_lineno]
    path.write_text("\n".join(lines), encoding="utf-8")
    with other.open("a", encoding="utf-8") as file:
        file.write("\n\n" + "\n".join(taken) + "\n")
    return f"{chosen.name} to {other.name}"


def new_file(editor: Editor, path: Path) -> str:
    """A script beside a file, which calls one of its functions."""
    functions = [each for each in editor.functions(path) if each.col_offset == 0]
    name = editor.random.choice(functions).name if functions else "main"
    text = f"import torch\nfrom {path.stem} import {name}\n\n\nif torch.distributed.get_rank() == 0:\n    {name}()\n"
    target = path.with_name(f"new_{editor.number}.py")
    target.write_text(text, encoding="utf-8")
    return target.name


def deleted_file(editor: Editor, path: Path) -> str:
    if len(editor.files()) > 3:
        path.unlink()
    return "gone"


def renamed_file(editor: Editor, path: Path) -> str:
    if path.name == "__init__.py":
        return "nothing"
    path.rename(path.with_name(f"{path.stem}_{editor.number}.py"))
    return "renamed"


def comment(_: Editor, path: Path) -> str:
    with path.open("a", encoding="utf-8") as file:
        file.write("# all ranks\n")
    return "a comment"


def silenced(editor: Editor, path: Path) -> str:
    return editor.insert(path, "torch.distributed.barrier()  # distlint: ignore[DL101]")


def broken(_: Editor, path: Path) -> str:
    """A file that does not parse, or does again."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[0] == "def (":
        del lines[0]
    else:
        lines.insert(0, "def (")
    path.write_text("\n".join(lines), encoding="utf-8")
    return lines[0]


_EDITS: Sequence[Callable[[Editor, Path], str]] = (
    plain_statement, plain_statement, collective, guard, guard, guard, call_of_another,
    renamed_function, signature, moved_function, new_file, deleted_file, renamed_file, comment,
    silenced, broken,
)  # fmt: skip


def differences(folder: Path, cache: Path, seed: int, count: int) -> Iterator[str]:
    """Where the warm check of `folder`, or that of one file alone, says something else after an edit."""
    editor = Editor(folder, random.Random(seed))
    said(folder, ["."], cache)
    for _ in range(count):
        what = editor.edit()
        named = str(editor.random.choice(editor.files()).relative_to(folder))
        cold = said(folder, ["."], None)
        alone = said(folder, [named], cache)
        if editor.random.random() < 0.5 and said(folder, ["."], cache) != cold:
            yield f"seed {seed}, {what}: with the cache"
        if alone.get(named) != cold.get(named) or alone.keys() - {named, ""}:
            yield f"seed {seed}, {what}: {named} alone"


def differences_in_an_editor(
    folder: Path, cache: Path, seed: int, count: int, *, saved: bool
) -> Iterator[str]:
    """Where an editor that stays open says something else after an edit, `saved` or still unsaved, than a cold check."""
    editor = Editor(folder, random.Random(seed))
    session = Session(
        (".",), lambda paths, unsaved: prepare(_everything(paths, cache), unsaved).requests
    )
    with _inside(folder):
        session.check()
    for _ in range(count):
        before = {path: path.read_text(encoding="utf-8") for path in editor.files()}
        what = editor.edit()
        cold = said(folder, ["."], None)
        after = {path: path.read_text(encoding="utf-8") for path in editor.files()}
        with _inside(folder):
            if saved or before.keys() != after.keys():
                for path in before:
                    session.edit(str(path), None)
                session.look_again()
            else:
                for path in after:
                    if after[path] != before[path]:
                        session.edit(str(path), after[path])
                        path.write_text(before[path], encoding="utf-8")
            if _by_file(session.check()) != cold:
                yield f"seed {seed}, {what}: in an editor"
            for path, text in after.items():
                path.write_text(text, encoding="utf-8")


def copied(package: str, parts: Sequence[str], folder: Path) -> None:
    """Copy parts of an installed package into `folder`, as a project of its own."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    for part in parts:
        source, target = home / part, folder / package.replace(".", "/") / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    for below in {folder / package.replace(".", "/"), *(p.parent for p in folder.rglob("*.py"))}:
        while below != folder:
            (below / "__init__.py").touch()
            below = below.parent


def generated(folder: Path, seed: int) -> None:
    """Write a project of small files into `folder`: a package, scripts that use it, and some that do not."""
    chance = random.Random(seed)
    names = ["sync", "steps", "files", "plain", "model"]
    texts = {
        chance.choice(["pyproject.toml", "README.md"]): "",
        "lib/__init__.py": "from .sync import wait\n",
    }
    for number, name in enumerate(names):
        others = "".join(
            f"from lib.{other} import {other}_step\n"
            for other in chance.sample(names[:number], number // 2)
        )
        calls = "".join(f"    {line.split()[-1]}()\n" for line in others.splitlines())
        body = "".join(f"    {line}\n" for line in chance.sample(_LINES, 2))
        texts[f"lib/{name}.py"] = (
            f"import os\nimport torch\nimport torch.distributed as dist\n{others}\n\n"
            f"def {name}_step(rank=None):\n{body}{calls}    return rank\n\n\n"
            f"def wait():\n    dist.barrier()\n\n\n"
            f"class {name.title()}(torch.nn.Module):\n    def forward(self, x):\n        {name}_step()\n"
            "        return x\n"
        )
    for number in range(4):
        used = chance.choice(names)
        guard = chance.choice(["if dist.get_rank() == 0:", "if dist.is_initialized():"])
        texts[f"run_{number}.py"] = (
            f"import torch.distributed as dist\nfrom lib.{used} import {used}_step, wait\n\n\n"
            f"def main():\n    dist.init_process_group('gloo')\n    {guard}\n        {used}_step()\n"
            "    wait()\n\n\nif __name__ == '__main__':\n    main()\n"
        )
        texts[f"tool_{number}.py"] = f"def tool_{number}(path):\n    return open(path).read()\n"
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


_LINES: Sequence[str] = (
    "dist.barrier()",
    "torch.save({}, 'model.pt')",
    "os.makedirs('out')",
    "print('step')",
    "torch.manual_seed(dist.get_rank())",
    "torch.cuda.set_device(0)",
)


def main() -> int:
    """Edit packages or folders; the exit code says whether a warm check ever said something else."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("edits", type=int)
    parser.add_argument("projects", nargs="*", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-an-editor", action="store_true", help="in a session that stays open")
    options = parser.parse_args()
    chosen: list[str | Path] = [*options.projects] or [*PACKAGES]
    wrong = 0
    for each in chosen:
        with tempfile.TemporaryDirectory() as home:
            folder, cache = Path(home, "project"), Path(home, "cache")
            if isinstance(each, Path):
                shutil.copytree(each, folder)
            else:
                folder.mkdir()
                copied(each, PACKAGES[each], folder)
            count = -(-options.edits // len(chosen))
            found = (
                differences_in_an_editor(folder, cache, options.seed, count, saved=False)
                if options.in_an_editor
                else differences(folder, cache, options.seed, count)
            )
            for line in found:
                print(f"{each}: {line}")
                wrong += 1
            print(f"{each}: {count} edits", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
