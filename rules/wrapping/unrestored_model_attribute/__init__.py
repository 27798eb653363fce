"""A model's attribute that is set for a while is not put back when the work in between fails.

## What it does
Finds an attribute of a model, its config or its tokenizer (`config._attn_implementation`, `use_cache`,
`output_hidden_states`, `padding_side`, `forward`, `training` …) that is saved in a variable, set, and set
back after some work, where nothing sets it back when the work raises. The new value may come from
`if`/`else`, from a conditional expression or from a `try`; the restore may stand far below, under a
condition, or beside a `delattr`.

## Why it is bad
Training loops catch errors: out of memory and the batch is skipped, a NaN guard, a retry. The exception
jumps over the restore, and the attribute keeps its temporary value for the rest of the run, on the ranks
that raised and not on the others. These then compute with another attention, another cache or other
outputs than the rest, and no message says so.

## Example
```python
previous = model.config._attn_implementation
if is_flash_attn_2_available():
    model.config._attn_implementation = "flash_attention_2"
else:
    model.config._attn_implementation = "sdpa"
outputs = model.generate(**batch)
model.config._attn_implementation = previous
```

## Use instead
```python
if is_flash_attn_2_available():
    new_attn_implementation = "flash_attention_2"
else:
    new_attn_implementation = "sdpa"
with attn_implementation(model, new_attn_implementation):
    outputs = model.generate(**batch)
```

## Fix safety
Safe where the work runs from the setting to the restore without leaving the block: the `with` goes around
exactly the statements that ran under the new value, and names that they bind stay visible after it. A
`return`, `break` or `continue` in between used to skip the restore, and no longer does: unsafe. A
restore under a condition other than that of the setting is only shown, and so is `model.eval()` with
`model.train(was_training)`: a context manager for modes would have to know each submodule's.

`attn_implementation` checks the name against what transformers knows, where the plain assignment took
anything.

## Known limits
Advice only (info) where nothing in the program catches the exception, so that the run ends with it, and where each
training step sets the mode anew.
Save and restore have to stand in one block of one function. A wrapper function that restores when it is
called back is not followed.

## References
- sentence-transformers 5.1.0, `sentence_transformers/losses/AdaptiveLayerLoss.py`, line 58
- trl 0.20.0, `trl/trainer/grpo_trainer.py`, line 1535
- PEP 343, the `with` statement
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.caught import is_caught
from distlint.columns import split_lines
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import settings
from distlint.patterns import pattern
from distlint.rule import Status

from .repair import repaired
from .temporary import Setting, Stretch, stretches

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL202"
NAME = "unrestored-model-attribute"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b".output_hidden_states =", b".output_attentions =")
NEEDS_RANKS = False


_WORDS = (
    "setattr(",
    ".train(",
    *(f".{name}" for name in (*settings.MODEL_SETTINGS, "forward")),
    *(f".{name}." for name in settings.CONFIGS),
)
_MAY_RESTORE = pattern(r"setattr\(|\.train\(|[^=!<>]=[ \t]*\w+[ \t]*(?:#.*|;.*)?$")
"""`setting = name` at the end of a line, and calls that may do the same."""


def check(model: Model) -> Iterator[Finding]:
    """Each stretch of work under attributes that only its success puts back."""
    for module in model.modules:
        lines = _restoring_lines(module.source.text)
        for function in module.all_functions if lines else ():
            if not function.is_module_body and not _holds_line(function.node, lines):
                continue
            for stretch in stretches(function.node):
                if any(_is_models(setting) for setting in stretch.settings):
                    caught = is_caught(model.program, function, stretch.work[0])
                    if caught and all(setting.by_method for setting in stretch.settings):
                        caught = not _mode_is_set_anew(model)
                    yield _finding(module, function, stretch, _wrapped(model), caught)


@remembered
def _wrapped(model: Model) -> set[tuple[Function, str]]:
    """Attributes of wrapped models, as written, and where."""
    return {(site.function, ast.unparse(site.node)) for site, _ in model.attributes()}


_STEP = pattern(r"train(?:ing)?_(?:step|batch)$")


@remembered
def _mode_is_set_anew(model: Model) -> bool:
    """Whether each step of a training sets the mode of its model: what an exception left of it is gone.

    OFA a36b91c trainer.py:732: `train_step` calls `self.model.train()`, and the loop above it catches what it raises.
    """
    return any(
        _STEP.match(function.name) is not None
        and any(
            isinstance(node.func, ast.Attribute) and node.func.attr == "train" and not node.args
            for node in own_nodes(function, ast.Call)
        )
        for module in model.modules
        for function in module.all_functions
    )


def _restoring_lines(text: str) -> list[int]:
    """The numbers of the lines that may put a model's setting back, in order."""
    if "\r" in text:
        text = "\n".join(split_lines(text))
    starts: set[int] = set()
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            if _MAY_RESTORE.search(text, at, end if end >= 0 else len(text)):
                starts.add(start)
            at = text.find(word, at + 1)
    return sorted(text.count("\n", 0, start) + 1 for start in starts)


def _holds_line(node: ast.AST, lines: list[int]) -> bool:
    first: int = node.lineno  # type: ignore[attr-defined]
    position = bisect_left(lines, first)
    return position < len(lines) and lines[position] <= (getattr(node, "end_lineno", None) or first)


def _is_models(setting: Setting) -> bool:
    """Whether the attribute is a model's: by its name, as part of a config, or as its `forward`."""
    if setting.attr in settings.MODEL_SETTINGS:
        return True
    match setting.owner:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr in settings.CONFIGS:
            return True
        case ast.Attribute(value=owner, attr=attr) if attr in settings.CONFIGS:
            return settings.names_model(_last_name(owner))
    return setting.attr == "forward" and settings.names_model(_last_name(setting.owner))


def _last_name(owner: ast.expr) -> str:
    while isinstance(owner, (ast.Subscript, ast.Call)):
        owner = owner.value if isinstance(owner, ast.Subscript) else owner.func
    return owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")


def _finding(
    module: Module,
    function: Function,
    stretch: Stretch,
    wrapped: set[tuple[Function, str]],
    caught: bool,
) -> Finding:
    first = min(stretch.settings, key=lambda s: s.save.lineno)
    paths = " and ".join(
        dict.fromkeys(f"`{source_of(module, s.owner)}.{s.attr}`" for s in stretch.settings)
    )
    start, end = stretch.work[0].lineno, stretch.work[-1].end_lineno
    lines = f"line {start}" if start == end else f"lines {start} to {end}"
    by_method = any(setting.by_method for setting in stretch.settings)
    if by_method:
        advice = "Put the work into `try` and the restore into `finally`"
        fix = Fix(Applicability.DISPLAY, advice)
    else:
        advice = "Put the work under a context manager that restores it"
        fix = repaired(module, function, stretch, wrapped) or Fix(Applicability.DISPLAY, advice)
    verb = (
        "keep their temporary values" if len(stretch.settings) > 1 else "keeps its temporary value"
    )
    severity = Severity.WARNING if by_method else SEVERITY
    how_long = "for the rest of the run" if caught else "wherever the exception is caught"
    return Finding(
        CODE,
        NAME,
        severity if caught else Severity.INFO,
        f"When {lines} raise{'s' if start == end else ''}, {paths} {verb} {how_long}, "
        f"on the ranks that raised and not on the others. {advice}.",
        place_of(module, first.save),
        tuple(
            place
            for setting in stretch.settings
            for place in (
                related(module, setting.sets[0], "set here"),
                related(module, setting.restore_statement, "set back only where nothing raised"),
            )
        ),
        fix,
    )
