"""The plan on a terminal: a line and a bar for each strategy, then what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from distlint.hardware.memory.activations import SOURCE
from distlint.hardware.memory.plan import Plan, Row, Usage
from distlint.hardware.memory.strategies import Precision
from distlint.hardware.memory.units import gib
from distlint.reporting.style import Style


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a bar: its name, its block and its letter, its colour, and its size."""

    name: str
    block: str
    letter: str
    paint: Callable[[Style, str], str]
    size: Callable[[Usage], int]

    def mark(self, style: Style) -> str:
        return self.block if style.unicode else self.letter


_PARTS: tuple[_Part, ...] = (
    _Part("weights", "█", "W", Style.blue, lambda u: u.weights),
    _Part("gradients", "▓", "G", Style.cyan, lambda u: u.gradients + u.buckets),
    _Part("optimizer", "▒", "O", Style.green, lambda u: u.optimizer),
    _Part("unsharded", "░", "U", Style.yellow, lambda u: u.unsharded),
    _Part("estimated", "·", ".", Style.dim, lambda u: u.estimated),
)

_PRECISIONS = {
    Precision.FP32: "fp32",
    Precision.MIXED: "bf16 compute with fp32 weights",
    Precision.BF16: "pure bf16",
}

_LEFT = 48  # strategy, three numbers, the verdict
_NARROWEST_BAR = 10
_WIDEST_BAR = 72
_MOST_MEMORIES = 3  # a bar ends in an arrow beyond this many times a GPU's memory


def render(plan: Plan, name: str, *, width: int, style: Style) -> str:
    """The plan as text.

    Args:
        plan: what to show.
        name: of the model, for the heading.
        width: columns of the terminal.
        style: colours, and whether the output can carry block characters; else letters.
    """
    request = plan.request
    dot = "·" if style.unicode else "-"
    options = [
        _PRECISIONS[request.precision],
        f"batch {request.batch} {'×' if style.unicode else 'x'} {request.sequence} tokens per GPU",
    ]
    if request.checkpointing:
        options.append("activation checkpointing")
    if request.offload:
        options.append("offload")
    bar_width = max(_NARROWEST_BAR, min(_WIDEST_BAR, width - _LEFT - 1))
    longest = max(request.memory, max(row.usage.total for row in plan.rows))
    scale = min(longest, _MOST_MEMORIES * request.memory) / bar_width
    lines = [
        style.bold(f"{name}: {request.parameters:,} parameters")
        + f" {dot} {request.gpus} GPU{'s' * (request.gpus > 1)} of {gib(request.memory)} GiB",
        *_wrapped(f" {dot} ".join(options), width),
        "",
        _heading(request.memory, bar_width, scale, style),
    ]
    lines += [_line(row, request.memory, bar_width, scale, style) for row in plan.rows]
    legend = "  ".join(f"{part.paint(style, part.mark(style))} {part.name}" for part in _PARTS)
    lines += ["", legend]
    hosts = [row for row in plan.rows if row.usage.host]
    if hosts:
        most = max(row.usage.host for row in hosts)
        lines.append(f"offload: up to {gib(most)} GiB of host memory for all GPUs together")
    lines.append("")
    lines += _advice(plan, style, width)
    lines += ["", *_notes(plan, width)]
    return "\n".join(lines)


def _heading(memory: int, bar_width: int, scale: float, style: Style) -> str:
    """The names of the columns, and the GPU's memory above its mark."""
    limit = f"{gib(memory)} GiB"
    at = round(memory / scale) + 1
    label = f"{limit:>{at}}" if at >= len(limit) else limit
    return f"{'GiB per GPU':<21}{'states':>7}{'est.':>7}{'total':>7}      {label}"


def _line(row: Row, memory: int, bar_width: int, scale: float, style: Style) -> str:
    usage = row.usage
    verdict = style.green("fits") if row.fits else style.red("no") + "  "
    numbers = f"{gib(usage.states):>7}{gib(usage.estimated):>7}{gib(usage.total):>7}"
    return (
        f"{row.strategy.title:<21}{numbers} {verdict} "
        f"{_bar(usage, memory, bar_width, scale, style)}"
    )


def _bar(usage: Usage, memory: int, bar_width: int, scale: float, style: Style) -> str:
    """Parts end where their running sum ends, so that rounding never adds up; then the limit."""
    cells: list[_Part | None] = []
    running = 0
    for part in _PARTS:
        running += part.size(usage)
        cells += [part] * (round(running / scale) - len(cells))
    cut = len(cells) > bar_width
    cells = (cells + [None] * bar_width)[: bar_width - cut]
    limit = round(memory / scale)
    mark = style.bold("▏" if style.unicode else "|")
    beyond = ("→" if style.unicode else ">") if cut else ""
    return (_runs(cells[:limit], style) + mark + _runs(cells[limit:], style) + beyond).rstrip()


def _runs(cells: list[_Part | None], style: Style) -> str:
    """Equal cells painted together."""
    return "".join(
        part.paint(style, part.mark(style) * count) if part else " " * count
        for part, count in ((part, len(list(run))) for part, run in groupby(cells))
    )


def _advice(plan: Plan, style: Style, width: int) -> list[str]:
    fitting = plan.fitting
    if fitting is not None:
        free = plan.request.memory - fitting.usage.total
        text = (
            f"{fitting.strategy.title} fits with {gib(free)} GiB left and the least "
            f"communication: {fitting.strategy.setting}"
        )
        lines = _wrapped(text, width)
        lines[0] = (
            style.green(lines[0][: lines[0].index("fits") + 4])
            + (lines[0][lines[0].index("fits") + 4 :])
        )
        simplest = plan.rows[0]
        if simplest.change is not None:
            lines += _wrapped(
                f"{simplest.strategy.title} would fit with {simplest.change.words}.", width
            )
        return lines
    if plan.change is not None:
        change = plan.change
        text = (
            f"Nothing fits as asked. Smallest change: {change.words}; then "
            f"{change.strategy.title} takes {gib(change.usage.total)} GiB: "
            f"{change.strategy.setting}"
        )
    else:
        text = (
            "Nothing fits, and no change of batch, checkpointing, offload or number of GPUs makes "
            "it fit: one block or one sample is too large for a GPU. Shorten --seq, or split the "
            "layers themselves (tensor or context parallelism)."
        )
    lines = _wrapped(text, width)
    lines[0] = style.red("Nothing fits") + lines[0].removeprefix("Nothing fits")
    return lines


def _notes(plan: Plan, width: int) -> list[str]:
    shape = plan.request.shape
    notes = _wrapped(
        f"states: exact for Adam. est.: an estimate of activations ({SOURCE}), of DeepSpeed's "
        f"reduce bucket, and {gib(plan.request.reserve)} GiB for context and buffers.",
        width,
    )
    if shape.assumed:
        notes += _wrapped(
            f"The shape is assumed: {shape.layers} layers of {shape.hidden}, "
            f"{shape.block_parameters / 1e6:,.0f} M parameters each; --config reads the real one.",
            width,
        )
    return notes


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, min(width, 100), break_on_hyphens=False)
