"""Functions that no program calls: left over from where a file was copied."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.linked import importers
from distlint.analysis.program.memory import remembered
from distlint.analysis.questions.launched import roots

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

_OF_ITS_OWN: Final = re.compile(r"globals\(\)|locals\(\)|(?<![\w.])eval\(")
"""What finds a function by a name among those of its own file, and of what that imports as a whole."""
_BY_NAME: Final = re.compile(
    r"importlib|import_module|instantiate|_target_|\bfire\b|\btyper\b|\bclick\b|__all__|__dict__"
    r"|getattr\([\w.]+,\s*(?![\"'\s])"
)
"""What finds a function by a name that is made, or handed in, or lets others import all of a file."""
_OF_PYTEST: Final = re.compile(r"(?:test|pytest|setup|teardown)_|(?:setUp|tearDown)")


def is_left_over(live: LiveProgram, module: Module, line: int) -> bool:
    """Whether a line is in a function of a script, or of what scripts alone import, that nothing names again.

    nanoVLM 4e0c096 utils/run_checkpoint_evaluations.py:42 is a copy of train.py's `wrap_model`; BELLE 645084d
    train/dschat_train_v1/utils/utils.py:113 one of DeepSpeed-Chat's, whose main.py keeps no moving average.
    """
    return any(first <= line <= last for first, last in _left_over(live, module))


@remembered
def _left_over(live: LiveProgram, module: Module) -> tuple[tuple[int, int], ...]:
    """The first and last lines of such functions."""
    starting = live.answer(roots)[module]
    users = importers(live.program, module)
    if (
        not starting
        or not all(root.is_script for root in starting)
        or any(_looks_up(user, module) for user in users)
    ):
        return ()
    texts = [each.source.text for each in live.program.modules.values()]
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in module.source.tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.decorator_list
        and not _OF_PYTEST.match(node.name)
        and _is_only_defined(node.name, [module.source.text] if users == {module} else texts)
    )


def _looks_up(user: Module, module: Module) -> bool:
    """Whether a file may find the functions of another, or of itself, by names that are no code."""
    text = user.source.text
    whole = user is module or "import *" in text
    return _BY_NAME.search(text) is not None or (whole and _OF_ITS_OWN.search(text) is not None)


def _is_only_defined(name: str, texts: list[str]) -> bool:
    """Whether a name stands nowhere but where functions get it: copies of a file define it, too."""
    word = re.compile(rf"(\bdef )?\b{re.escape(name)}\b")
    return all(found for text in texts if name in text for found in word.findall(text))
