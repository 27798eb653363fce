"""Runs of an earlier check are taken over where they would come out the same, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from distlint.analysis import Kept, Model, Source, build_models
from distlint.analysis.interpreter.ir import Summary

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
