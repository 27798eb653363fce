"""The plan on a terminal: a line and a bar for each strategy, then what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from distlint.hardware.memory.limits import Largest
from distlint.hardware.memory.plan import Plan, Row, Usage
from distlint.hardware.memory.sizes import ModelSize
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


def render(
    plan: Plan, model: ModelSize, largest: Largest | None, *, width: int, style: Style
) -> str:
    """The plan as text.

    Args:
        plan: what to show.
        model: of which.
        largest: what else would fit, where that was asked for.
        width: columns of the terminal.
        style: colours, and whether the output can carry block characters; else letters.
    """
    request = plan.request
    dot = "·" if style.unicode else "-"
    options = _options(plan, model, style)
    bar_width = max(_NARROWEST_BAR, min(_WIDEST_BAR, width - _LEFT - 1))
    longest = max(request.memory, max(row.usage.total for row in plan.rows))
    scale = min(longest, _MOST_MEMORIES * request.memory) / bar_width
    lines = [
        *_heading_of(plan, model, dot, width, style),
        *_wrapped(f" {dot} ".join(options), width),
        "",
        _heading(request.memory, scale),
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
    if largest is not None:
        lines += _wrapped(_largest(largest, plan, model), width)
    lines += ["", *_notes(plan, model, width)]
    return "\n".join(lines)


def _heading_of(plan: Plan, model: ModelSize, dot: str, width: int, style: Style) -> list[str]:
    """What is planned for what; on two lines where one is too narrow."""
    request = plan.request
    what = f"{model.name}: {request.parameters:,} parameters"
    where = f"{request.gpus:,} GPU{'s' * (request.gpus > 1)} of {gib(request.memory)} GiB"
    if len(what) + len(where) + 3 <= width:
        return [f"{style.bold(what)} {dot} {where}"]
    return [*(style.bold(line) for line in _wrapped(what, width)), where]


def _options(plan: Plan, model: ModelSize, style: Style) -> list[str]:
    """How the model is trained, as far as it was said."""
    request, units = plan.request, model.units.total
    sample = f"{request.sequence:,} tokens" if model.sequence is not None else model.sample
    options = [
        _PRECISIONS[request.precision],
        request.optimizer.key,
        f"batch {request.batch:,} {'×' if style.unicode else 'x'} {sample} per GPU",
    ]
    if units.trained < units.count:
        options.append(f"{units.trained:,} parameters trained")
    if units.quantized:
        options.append(f"{units.quantized:,} quantized")
    if request.tensor_parallel > 1:
        options.append(f"each layer over {request.tensor_parallel} GPUs")
    if request.shard_group:
        options.append(f"HSDP in groups of {request.shard_group}")
    if request.checkpointing:
        options.append("activation checkpointing")
    if request.eager_attention:
        options.append("eager attention")
    if request.offload:
        options.append("offload")
    return options


def _largest(largest: Largest, plan: Plan, model: ModelSize) -> str:
    """The largest batch and the longest sample, with the strategy they are for."""
    request, title = plan.request, largest.row.strategy.title
    sample = f"{request.sequence:,} tokens" if model.sequence is not None else model.sample
    if not largest.batch:
        batch = f"not even one sample of {sample} fits"
    else:
        plural = "s" * (largest.batch > 1)
        batch = f"the largest batch is {largest.batch:,} sample{plural} of {sample}"
    if largest.sequence is None:
        return f"With {title} {batch}."
    longest = (
        f"the longest sample is {largest.sequence:,} tokens at batch {request.batch:,}"
        if largest.sequence
        else f"no length fits at batch {request.batch:,}"
    )
    end = " (all that the model has positions for)" if largest.ends else ""
    return f"With {title} {batch}; {longest}{end}."


def _heading(memory: int, scale: float) -> str:
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
        cells += [part] * (min(round(running / scale), bar_width + 1) - len(cells))
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


def _notes(plan: Plan, model: ModelSize, width: int) -> list[str]:
    request = plan.request
    inexact = []
    if not request.optimizer.exact:
        inexact.append(f"{request.optimizer.key}'s state")
    if model.units.total.quantized:
        inexact.append("quantized weights")
    exact = (
        f"states: {' and '.join(inexact)} by their format, the rest exact"
        if inexact
        else "states: exact"
    )
    notes = _wrapped(
        f"{exact}. est.: an estimate of activations at their peak, of DeepSpeed's buffers, and "
        f"{gib(request.reserve)} GiB for context and buffers.",
        width,
    )
    return [*notes, *(line for note in model.notes for line in _wrapped(note, width))]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, min(width, 100), break_on_hyphens=False)
