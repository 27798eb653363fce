"""A launch script has a quote that nothing closes, or a command that ends in the middle.

## What it does
Finds shell scripts with a launch in which a quote is still open at the end, shells that are given no command
(`srun bash -c && …`), since the quote that opens it is missing, and launches that end above their arguments: a comment
or an empty line between continued lines, a line without its backslash, or one with a space behind it (which is a warning in a
README).

## Why it is bad
The shell takes all that follows an open quote for a part of one word, and ends with an error at the end of the file: the
launch is never made. On a cluster, the job waits for its machines first. Of a launch that ends too early, the ranks
start without the arguments below; the shell then looks for commands of their names.

## Errors you may see
- `unexpected EOF while looking for matching`
- `syntax error: unexpected end of file`
- `bash: -c: option requires an argument`
- `--output_dir: command not found`

## Example
```bash
torchrun --nproc_per_node=8 train.py \\
    --data $DATA/images" \\
    --lr 1e-4
```

## Use instead
```bash
torchrun --nproc_per_node=8 train.py \\
    --data "$DATA/images" \\
    --lr 1e-4
```

## Fix safety
Shown only: which quote is too much or missing, and what is done with a comment, a person has to say.

## Known limits
Scripts of bash and sh; what a Dockerfile or a page quotes is not judged, nor what a page has on lines of its own, but for a
space behind a backslash in a README. A launch ends too early where an option begins the
next command: behind a comment that stands for the last argument, nothing is lost.

Not proven: no process starts.

## References
- GNU Bash manual 5.2, 3.1.2 Quoting, 3.1.3 Comments
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.launch.cut_short import cut_short
from distlint.launch.kinds import Kind, kind_of
from distlint.launch.places import Lines
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.quotes import commands_of_nothing, open_quote
from distlint.rule import Status

CODE = "DL814"
NAME = "open-quote"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Scripts that end inside a quote, and launches that end in front of their arguments.

    DMD2 8d8fa55 experiments/sdv1.5: `--ckpt_only_path $CHECKPOINT_PATH/…_039000" \\`, a launch on eight machines.
    """
    for script in files.scripts:
        if script.told:
            yield from _ended_early(script)
        if kind_of(script.path) is not Kind.SHELL:
            continue
        if script.launches and (start := open_quote(script.text)) is not None:
            happens = "nothing closes this quote: the shell ends with an error, and starts nothing"
            place = Lines(script.path, script.text).place(start, start + 1)
            yield _finding(place, happens, "Close it, or take it out")
            continue
        for start, end in commands_of_nothing(script.text) if _starts_ranks(script) else ():
            happens = (
                "this shell is given no command, as the quote in front of it is missing: it ends with an error, and nothing "
                "starts"
            )
            place = Lines(script.path, script.text).place(start, end)
            yield _finding(place, happens, "Open the quote")
        yield from _ended_early(script)


def _ended_early(script: Script) -> Iterator[Finding]:
    """The launches that end in front of their arguments."""
    advice = "End each line but the last one in a backslash, with no comment and no empty line between them"
    if script.told:
        advice = "Take out the space behind the backslash"
    for launch, word, at, lines in cut_short(script):
        happens = (
            f"this command ends above line {at.line}: the ranks start without `{word}` and what follows, which the shell runs "
            f"as {'commands' if lines > 1 else 'a command'}"
        )
        severity = Severity.WARNING if script.told else SEVERITY
        yield replace(_finding(launch.place, happens, advice, at), severity=severity)


def _starts_ranks(script: Script) -> bool:
    """Whether a script launches ranks, or has a scheduler start something on the machines of a job."""
    return bool(script.launches) or any(
        c.words and c.words[0].text == "srun" for c in script.commands
    )


def _finding(place: Place, happens: str, advice: str, lost: Place | None = None) -> Finding:
    fix = Fix(Applicability.DISPLAY, advice)
    places = (Related(lost, "what is left out"),) if lost is not None else ()
    return Finding(CODE, NAME, SEVERITY, f"{happens}. {advice}.", place, places, fix)
