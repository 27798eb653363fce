"""Runs of an earlier check, and what rules were told in it, are taken over where they would come out the same, and
nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from distlint.analysis import Kept, Model, Source, as_asked, build_models
from distlint.analysis.interpreter.ir import Summary
from distlint.analysis.program.definitions import Module
from distlint.analysis.program.linked import importers
from distlint.analysis.program.memory import remembered

FILES: Mapping[str, str] = {
    "ranks": "import torch.distributed as dist\n\n\ndef first():\n    return dist.get_rank() == 0\n",
    "saving": (
        "import torch.distributed as dist\n\n\ndef save(model):\n    dist.barrier()\n    model.save('x')\n"
    ),
    "train": (
        "from ranks import first\nfrom saving import save\n\n\ndef main(model):\n"
        "    if first():\n        save(model)\n\n\nmain(object())\n"
    ),
    "other": "from saving import save\n\n\ndef other(model):\n    save(model)\n",
}


class Project:
    """Files whose trees stay while their texts do."""

    def __init__(self) -> None:
        self.kept = Kept()
        self._sources: dict[str, Source] = {}

    def check(self, files: Mapping[str, str]) -> Model:
        """The model of the files as they are now."""
        for name, text in files.items():
            known = self._sources.get(name)
            if known is None or known.text != text:
                self._sources[name] = Source(f"{name}.py", name, text, ast.parse(text))
        sources = [self._sources[name] for name in files]
        return next(build_models(sources, kept=self.kept))


def runs(model: Model, name: str) -> set[Summary]:
    """The live runs of the functions of a module."""
    return set(_runs(model, name))


def _runs(model: Model, name: str) -> Iterator[Summary]:
    for function in model.program.modules[name].all_functions:
        of_function = model.summaries_of(function)
        if of_function is not None:
            yield from (summary for _, summary in of_function.summaries())


def test_of_the_same_files_each_run_is_taken_over() -> None:
    project = Project()
    before = {name: runs(project.check(FILES), name) for name in FILES}
    assert all(before.values())
    assert {name: runs(project.check(FILES), name) for name in FILES} == before


def test_a_change_concerns_the_runs_that_ask_for_it() -> None:
    project = Project()
    first = project.check(FILES)
    before = {name: runs(first, name) for name in FILES}
    text = FILES["ranks"].replace("== 0", "== 1")
    second = project.check({**FILES, "ranks": text})
    assert runs(second, "saving") == before["saving"]
    assert runs(second, "other") == before["other"]
    assert runs(second, "ranks").isdisjoint(before["ranks"])
    assert runs(second, "train").isdisjoint(before["train"])


def test_what_was_called_and_is_not_any_more_has_other_runs() -> None:
    project = Project()
    (divergence,) = project.check(FILES).divergences()
    assert divergence.module.name == "train"
    text = FILES["train"].replace("if first():", "if True:")
    assert not list(project.check({**FILES, "train": text}).divergences())
    (divergence,) = project.check(FILES).divergences()
    assert divergence.module.name == "train"


def test_a_new_file_may_change_what_a_name_means() -> None:
    project = Project()
    files = {**FILES, "other": "import saving\nfrom fast import save\n\nsave(object())\n"}
    before = runs(project.check(files), "other")
    assert runs(project.check(files), "other") == before
    after = project.check(
        {
            **files,
            "fast": "import torch.distributed as dist\n\n\ndef save(model):\n    dist.barrier()\n",
        }
    )
    assert runs(after, "other").isdisjoint(before)


def test_each_project_has_its_own() -> None:
    one, other = Project(), Project()
    assert runs(one.check(FILES), "train").isdisjoint(runs(other.check(FILES), "train"))


# What rules ask

SAME: Mapping[str, str] = {**FILES, "other": FILES["other"] + "\n\nprint(1)\n"}
"""After a key in `other`, which nothing imports."""

answered: list[str] = []


@remembered
def calls_in(model: Model, module: Module) -> list[str]:
    answered.append(module.name)
    return [call.site.name for call in model.calls(module=module)]


@remembered
def users(model: Model, module: Module) -> int:
    answered.append(module.name)
    return len(importers(model.program, module))


def said(model: Model) -> dict[str, tuple[list[str], int]]:
    """What two questions find of each file; `answered` tells of which they were answered anew."""
    answered.clear()
    modules = model.program.modules.items()
    return {name: (calls_in(model, module), users(model, module)) for name, module in modules}


def test_a_key_concerns_the_files_of_which_something_else_is_said() -> None:
    project = Project()
    first = said(as_asked(project.check(FILES), project.kept))
    assert answered == [name for name in FILES for _ in range(2)]
    assert first == said(project.check(FILES))
    assert said(as_asked(project.check(FILES), project.kept)) == first
    assert not answered
    model = as_asked(project.check(SAME), project.kept)
    assert said(model)["ranks"] == first["ranks"]
    assert "other" in answered
    assert "ranks" not in answered


def test_whole_tables_say_what_those_of_the_model_say() -> None:
    project = Project()
    solved = project.check(FILES)
    model = as_asked(solved, project.kept)
    assert dict(model.joint_entries).keys() == solved.joint_entries.keys()
    assert set(model.alone) == solved.alone
    assert dict(model.callers) == solved.callers
    assert [each.function for each in model.functions()] == [
        each.function for each in solved.functions()
    ]
    assert list(model.modules) == list(solved.modules)
    functions = list(solved.program.functions())
    assert [f in model.alone for f in functions] == [f in solved.alone for f in functions]
    assert [model.callers.get(f) for f in functions] == [solved.callers.get(f) for f in functions]
