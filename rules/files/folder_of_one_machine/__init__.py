"""Rank 0 alone makes the folder into which every rank writes, or reads what they have written.

## What it does
Reports a folder that rank 0 alone creates, under a test of the global rank, where the other ranks write files of
their own into it. Calls are followed, and a barrier between the two changes nothing. Reports also results that each rank
writes to a file with its number in the name, and that are read in a loop over all ranks.

## Why it is bad
Where the machines share no disk the folder is on the first of them only: the ranks of the others fail at their first
file, after they have worked for it, or rank 0 finds no results of theirs. With one machine, or a shared disk, all is well, so that nobody sees it before
the first run on two.

## Errors you may see
- `FileNotFoundError: [Errno 2] No such file or directory`

## Example
```python
if dist.get_rank() == 0:
    os.makedirs(folder, exist_ok=True)
dist.barrier()
save_image(sample, f"{folder}/{index}.png")
```

## Use instead
```python
os.makedirs(folder, exist_ok=True)
save_image(sample, f"{folder}/{index}.png")
```

## Fix safety
Shown only: what else stands in the branch of rank 0 may have to stay there.

## Known limits
Information: most who train on several machines share a disk, and nothing in the code says who does not. Silent where the
reader raises for a file that is missing (a shared disk is what it asks for), and where it names storage that all
machines share (`hdfs`, `s3`, `nfs`).
Paths are compared as written, through variables that are assigned once and through arguments. Silent where rank 0 itself
has written there before it comes to make the folder, where the first
rank of each machine makes the folder, and where the processes of all scripts that lead there meet on `localhost`. Names of results are
compared as written, in one function; without their folder, in a function and those that it calls.

## References
- python 3.11 os: `makedirs`
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.questions.machines import on_one_machine
from distlint.analysis.questions.ordering import Race, folders_of_main
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

from .collected import Collected, collected_files

CODE = "DL310"
NAME = "folder-of-one-machine"
SEVERITY = Severity.INFO
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Each folder of rank 0 that all ranks use."""
    for race in folders_of_main(model):
        if not on_one_machine(model, race.prepared.site.function):
            yield _finding(race)
    for module in model.modules:
        if "range(" in module.source.text and model.is_distributed(module):
            for function in module.all_functions:
                for files in collected_files(model, function):
                    if function not in model.alone and not on_one_machine(model, function):
                        yield _collected(files)


def _collected(files: Collected) -> Finding:
    advice = "Send the results, with `gather_object` or `all_gather_object`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"each rank has written its results to a file, and the files of all ranks are read here: on machines that share "
        f"no disk those of the others are missing. {advice}.",
        place_of(files.module, files.read),
        (related(files.module, files.written, "the file of each rank"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _finding(race: Race) -> Finding:
    made, used = race.prepared.site, race.used.site
    advice = "Let every rank make it, with `exist_ok=True`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone makes the folder, and every rank writes into it at line {used.node.lineno}: on machines that "
        f"share no disk it is missing, and their ranks fail. {advice}.",
        place_of(made.module, made.node),
        (related(used.module, used.node, "every rank writes into it"),),
        Fix(Applicability.DISPLAY, advice),
    )
