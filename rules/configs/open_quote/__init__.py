"""A launch script has a quote that nothing closes, and the shell starts nothing.

## What it does
Finds shell scripts with a launch in which a quote is still open at the end, and shells that are given no command
(`srun bash -c && …`), since the quote that opens it is missing.

## Why it is bad
The shell takes all that follows for a part of one word, and ends with an error at the end of the file: the launch is
never made. On a cluster, the job waits for its machines first.

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
from distlint.launch.quotes import commands_of_nothing, open_quote
from distlint.rule import Status

CODE = "DL814"
NAME = "open-quote"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Scripts that end inside a quote.

    DMD2 8d8fa55 experiments/sdv1.5: `--ckpt_only_path $CHECKPOINT_PATH/…_039000" \\`, a launch on eight machines.
    """
    for script in files.scripts:
        if kind_of(script.path) is not Kind.SHELL:
            continue
        if script.launches and (start := open_quote(script.text)) is not None:
            happens = "nothing closes this quote: the shell ends with an error, and starts nothing"
            yield _finding(script, start, start + 1, happens, "Close it, or take it out")
            continue
        for start, end in commands_of_nothing(script.text) if _starts_ranks(script) else ():
            happens = (
                "this shell is given no command, as the quote in front of it is missing: it ends with an error, and nothing "
                "starts"
            )
            yield _finding(script, start, end, happens, "Open the quote")


def _starts_ranks(script: Script) -> bool:
    """Whether a script launches ranks, or has a scheduler start something on the machines of a job."""
    return bool(script.launches) or any(
        c.words and c.words[0].text == "srun" for c in script.commands
    )


def _finding(script: Script, start: int, end: int, happens: str, advice: str) -> Finding:
    place = Lines(script.path, script.text).place(start, end)
    fix = Fix(Applicability.DISPLAY, advice)
    return Finding(CODE, NAME, SEVERITY, f"{happens}. {advice}.", place, (), fix)
