"""A launch script has a quote that nothing closes, and the shell starts nothing.

## What it does
Finds shell scripts with a launch in which a quote is still open at the end, and those of which a `bash -c` gets no
command, as the quote in front of it is missing.

## Why it is bad
The shell takes all that follows for a part of one word, and ends with an error at the end of the file: the launch is
never made. On a cluster, the job waits for its machines first. Where a quote is missing twice, the two that are left
pair up: what stands behind `bash -c` runs elsewhere, if at all.

## Errors you may see
- `unexpected EOF while looking for matching`
- `syntax error: unexpected end of file`
- `bash: -c: option requires an argument`

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
Shown only: which quote is too much or missing, a person has to say.

## Known limits
Scripts of bash and sh; what a Dockerfile or a page quotes is not judged.

Not proven: no process starts.

## References
- GNU Bash manual 5.2, 3.1.2 Quoting
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.launch.kinds import Kind, kind_of
from distlint.launch.places import Lines
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.quotes import open_quote, without_command
from distlint.rule import Status

CODE = "DL814"
NAME = "open-quote"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Scripts that end inside a quote, and shells that are given no command.

    DMD2 8d8fa55 experiments/sdv1.5: `--ckpt_only_path $CHECKPOINT_PATH/…_039000" \\`, a launch on eight machines.
    """
    for script in files.scripts:
        if kind_of(script.path) is not Kind.SHELL:
            continue
        start = open_quote(script.text) if script.launches else None
        if start is not None:
            happens = "nothing closes this quote: the shell ends with an error, and starts nothing"
            yield _finding(script, start, happens, "Close it, or take it out")
            continue
        for start in without_command(script.text):
            happens = (
                "this shell is given no command and ends with an error: what follows is not its own"
            )
            yield _finding(script, start, happens, "Put what it is to run in quotes")


def _finding(script: Script, start: int, happens: str, advice: str) -> Finding:
    place = Lines(script.path, script.text).place(start, start + 1)
    fix = Fix(Applicability.DISPLAY, advice)
    return Finding(CODE, NAME, SEVERITY, f"{happens}. {advice}.", place, (), fix)
