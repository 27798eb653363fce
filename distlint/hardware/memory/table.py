"""The plan on a terminal: a line and a bar for each strategy, then what to do."""

from __future__ import annotations

from collections.abc import Callable

from distlint.hardware.memory.activations import SOURCE
from distlint.hardware.memory.plan import Plan, Row, Usage
from distlint.hardware.memory.strategies import Precision
from distlint.hardware.memory.units import gib

# The parts of a bar in their order: name, block character, ASCII character, colour.
_PARTS: tuple[tuple[str, str, str, str, Callable[[Usage], int]], ...] = (
    ("weights", "█", "W", "34", lambda u: u.weights),
    ("gradients", "▓", "G", "36", lambda u: u.gradients + u.buckets),
    ("optimizer", "▒", "O", "35", lambda u: u.optimizer),
    ("unsharded", "░", "U", "33", lambda u: u.unsharded),
    ("estimated", "·", ".", "2", lambda u: u.estimated),
)

_PRECISIONS = {
    Precision.FP32: "fp32",
    Precision.MIXED: "bf16 compute with fp32 weights",
    Precision.BF16: "pure bf16",
}

_LEFT = 46  # strategy, three numbers, the verdict
_NARROWEST_BAR = 10
_WIDEST_BAR = 72


def render(plan: Plan, name: str, *, width: int, colour: bool, unicode: bool) -> str:
    """The plan as text.

    Args:
        plan: what to show.
        name: of the model, for the heading.
        width: columns of the terminal.
        colour: write ANSI colours.
        unicode: the output can carry block characters; else letters.
    """
    request = plan.request
    paint = _painter(colour)
    times = "×" if unicode else "x"
    dot = "·" if unicode else "-"
    options = [
        _PRECISIONS[request.precision],
        f"batch {request.batch} {times} {request.sequence} tokens per GPU",
    ]
    if request.checkpointing:
        options.append("activation checkpointing")
    if request.offload:
        options.append("offload")
    lines = [
        paint("1", f"{name}: {request.parameters:,} parameters")
        + f" {dot} {request.gpus} GPU{'s' * (request.gpus > 1)} of {gib(request.memory)} GiB",
        f" {dot} ".join(options),
        "",
    ]
    bar_width = max(_NARROWEST_BAR, min(_WIDEST_BAR, width - _LEFT - 2))
    scale = max(request.memory, max(row.usage.total for row in plan.rows)) / bar_width
    limit = f"{'|' if not unicode else '▏'}{gib(request.memory)} GiB"
    at = min(int(request.memory / scale), bar_width)
    label = (" " * at + limit) if at + len(limit) <= bar_width + 2 else limit.rjust(bar_width + 1)
    lines.append(f"{'GiB per GPU':<21}{'states':>7}{'est.':>7}{'total':>7}      {label}".rstrip())
    lines += [_line(row, request.memory, bar_width, scale, paint, unicode) for row in plan.rows]
    legend = "  ".join(
        f"{paint(shade, block if unicode else letter)} {part}"
        for part, block, letter, shade, _ in _PARTS
    )
    lines += ["", legend]
    hosts = [row for row in plan.rows if row.usage.host]
    if hosts:
        most = max(row.usage.host for row in hosts)
        lines.append(f"offload: up to {gib(most)} GiB of host memory for all GPUs together")
    lines += ["", *_advice(plan, paint)]
    lines += ["", *_notes(plan)]
    return "\n".join(lines)


def _line(
    row: Row,
    memory: int,
    bar_width: int,
    scale: float,
    paint: Callable[[str, str], str],
    unicode: bool,
) -> str:
    usage = row.usage
    verdict = paint("32", "fits") if row.fits else paint("31", "no  ")
    numbers = f"{gib(usage.states):>7}{gib(usage.estimated):>7}{gib(usage.total):>7}"
    return (
        f"{row.strategy.title:<21}{numbers} {verdict} "
        f"{_bar(usage, memory, bar_width, scale, paint, unicode)}"
    )


def _bar(
    usage: Usage,
    memory: int,
    bar_width: int,
    scale: float,
    paint: Callable[[str, str], str],
    unicode: bool,
) -> str:
    """Parts end where their running sum ends, so that rounding never adds up; `|` is the limit."""
    cells: list[tuple[str, str]] = []
    running = 0
    for _, block, letter, shade, size in _PARTS:
        running += size(usage)
        cells += [(shade, block if unicode else letter)] * (round(running / scale) - len(cells))
    limit = round(memory / scale)
    cells += [("", " ")] * (bar_width - len(cells))
    cells.insert(limit, ("1", "▏" if unicode else "|"))
    text, start = "", 0
    for index in range(1, len(cells) + 1):
        if index == len(cells) or cells[index] != cells[start]:
            shade, mark = cells[start]
            run = mark * (index - start)
            text += paint(shade, run) if shade else run
            start = index
    return text.rstrip()


def _advice(plan: Plan, paint: Callable[[str, str], str]) -> list[str]:
    fitting = plan.fitting
    if fitting is not None:
        free = plan.request.memory - fitting.usage.total
        first = fitting.strategy
        lines = [
            f"{paint('32', first.title + ' fits')} with {gib(free)} GiB left and the least "
            f"communication: {first.setting}"
        ]
        if first is not plan.rows[0].strategy:
            below = plan.rows[0]
            if below.change is not None:
                lines.append(f"{below.strategy.title} would fit with {below.change.words}.")
        return lines
    if plan.change is not None:
        change = plan.change
        return [
            f"{paint('31', 'Nothing fits')} as asked. Smallest change: {change.words}; then "
            f"{change.strategy.title} takes {gib(change.usage.total)} GiB: "
            f"{change.strategy.setting}"
        ]
    return [
        f"{paint('31', 'Nothing fits')}, and no change of batch, checkpointing, offload or number "
        "of GPUs makes it fit: one block or one sample is too large for a GPU. Shorten --seq, or "
        "split the layers themselves (tensor or context parallelism)."
    ]


def _notes(plan: Plan) -> list[str]:
    shape = plan.request.shape
    notes = [
        f"states: exact for Adam. est.: an estimate of activations ({SOURCE}),",
        f"  of DeepSpeed's reduce bucket, and {gib(plan.request.reserve)} GiB for context and "
        "buffers.",
    ]
    if shape.assumed:
        notes.append(
            f"The shape is assumed: {shape.layers} layers of {shape.hidden}, "
            f"{shape.block_parameters / 1e6:,.0f} M parameters each; --config reads the real one."
        )
    return notes


def _painter(colour: bool) -> Callable[[str, str], str]:
    def paint(code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if colour else text

    return paint
