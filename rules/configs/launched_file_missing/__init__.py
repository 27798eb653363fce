"""A launch names a script or a configuration that is not in the project, or no script at all.

## What it does
Finds launches in shell scripts, READMEs and the heads of programs (docstring and comments) whose program, or whose
configuration (`--config_file`, `--config`, `-c`, `--deepspeed`, or a path in front of all options), is in none of the folders from the script's own up to the top, though the
folder that it is looked for in is there and holds files of the kind, or the only file of that name below it; programs of which
another place has the folder and name, beside a file that the launch names and that is there; configurations that are not
there from the folder in which the program is, though another has the name; what begins at the script's own folder
(`$(dirname "$0")/train.py`, or behind `cd "$(dirname "$0")"`) and is not there; configurations that a page names, and that are
further down, seen from where the program is; configurations that a script hands on as `$1`
to what it launches, and those without their end (`configs/large` for `configs/large.py`) that the program opens as they
are, be it by `--config` or any option (`OmegaConf.load(args.model)`); DeepSpeed's JSON in a folder that is nowhere, while the file lies beside the script; shell scripts that another one or a
page starts, and that are not beside others with launches, or not in the folder that a container is given, or that a README starts by the
beginning of their names; `python` in the
program's place (`torchrun python train.py`) or in front of the launcher (`python torchrun train.py`); the
YAML of `llamafactory-cli train`; programs without a folder that no file of the project is called, where most others that the
script (in comments, too), or else those beside it, start in the same folder lie beside it, or a configuration that the launch
names is there, and those to which the page has a link that leads nowhere; what is not there from the folder in which all that start a script do so; modules that Python is to run as
files (`mpirun -np 8 python package.train`), and files that import by their place in a package (`from .data import …`); options of hydra's groups that launches or lists of defaults choose; a bare `--config_file` of accelerate that is not beside the program, where another one is; a launcher that the project lacks (`python -m launch --nproc_per_node 8`); a module below a package that it lacks, where other
scripts start the same one below the project's own, or one that the project's own package lacks; programs that a script copies to where it starts them; launches by `torchrun` or `deepspeed` that name no program,
as where a comment between its lines ends the command, or where a program's own options stand in its place; programs behind a variable that only another script sets to the launcher; and configurations of accelerate that name such a JSON of DeepSpeed.

## Why it is bad
Every rank ends as it starts. The file has been moved, renamed or never committed, so whoever follows the script has
to find out what was meant.

## Errors you may see
- `can't open file '...': [Errno 2] No such file or directory`
- `ImportError: attempted relative import with no known parent package`
- `FileNotFoundError: [Errno 2] No such file or directory: '...json'`
- `Expected a string path to an existing deepspeed config`
- `error: the following arguments are required: training_script, training_script_args`

## Example
```bash
# main/ holds sd/train.py and sample.py
torchrun --nproc_per_node=8 main/train.py
```

## Use instead
```bash
torchrun --nproc_per_node=8 main/sd/train.py
```

## Fix safety
Shown only: which file is meant, a person has to say.

## Known limits
Names without a folder say nothing: scripts are started in all places; but those that no file of the project has. Of hydra's
groups, silent where code registers configurations. A module in a package may be installed. A folder of somebody's machine counts as a
copy of the project where a script starts what is there from it. Silent where a script may fetch or copy the file, or clones another project to work in,
and for pages other than a README, which may tell of other projects. A folder that the script changes to counts as one
that the file may be in, and on a page any that has a file of that name below it. Launches that miss the same file are one finding.

Not proven: no process starts.

## References
- CPython 3.13, Modules/main.c: `pymain_run_file`
- accelerate 1.15.0, utils/dataclasses.py: `HfDeepSpeedConfig`
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from distlint.columns import split_lines
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import section_of
from distlint.launch.absent import (
    files_for_modules,
    is_written_out,
    missing,
    missing_beside,
    missing_modules,
    missing_of_packages,
    missing_packages,
    modules_for_files,
    written_at,
)
from distlint.launch.commands import Launch
from distlint.launch.group_options import missing_options
from distlint.launch.handed_on import (
    missing_configurations,
    missing_copies,
    missing_scripts,
    missing_tasks,
)
from distlint.launch.project import Format, LaunchFiles, Script
from distlint.launch.unset import launchers_unset
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.rule import Status

CODE = "DL812"
NAME = "launched-file-missing"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_SHOWN = 5


_INTERPRETERS = frozenset({"python", "python3"})
_BARE = pattern(r"\w+(?=\s)")
_PROGRAM = pattern(r"\.(?:py|sh|pex)\b")
_FILE = "`{}` is not in the project: every rank ends as it starts"
_SCRIPT = "`{}` is not in the project: the shell ends, and no rank starts"
_PACKAGE = "The project has no package of `{}`: Python ends, and no rank starts"
_IN_PACKAGE = "The package of `{}` has no such module: Python ends, and no rank starts"
_AS_A_FILE = "`{}` imports by its place in a package, which a file that Python runs has not: every rank ends as it starts"
_MODULE = "The project has no module `{}`: Python ends, and no rank starts"


@dataclass(frozen=True, slots=True)
class _Missing:
    name: str
    place: Place
    reported: bool
    happens: str = _FILE
    meant: str = ""
    """What is there under that name, where more is known than the name."""


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """One finding for each file that launches miss, and for each launch of nothing."""
    yield from _without_program(files)
    yield from _python_for_program(files)
    yield from _without_launcher(files)
    groups: dict[str, list[_Missing]] = {}
    for each in (*_of_launches(files), *_of_accelerate(files)):
        groups.setdefault(posixpath.normpath(each.name), []).append(each)
    for group in groups.values():
        group.sort(key=lambda each: not each.reported)
        first, *more = group
        advice = f"Name `{first.meant}`" if first.meant else "Name a file that is there"
        if first.happens is _MODULE:
            advice = "Start with `torchrun`"
        elif first.happens is _AS_A_FILE:
            advice = f"Start `-m {first.meant}`"
        text = f"{first.happens.format(first.name)}. {advice}."
        if more:
            text += f" {len(more)} more launch{'es' * (len(more) > 1)} miss{'es' * (len(more) == 1)} it."
        places = tuple(Related(each.place, "and here") for each in more[:_SHOWN])
        fix = Fix(Applicability.DISPLAY, advice)
        yield Finding(CODE, NAME, SEVERITY, text, first.place, places, fix)


def _without_program(files: LaunchFiles) -> Iterator[Finding]:
    """Launches by torch's launchers or DeepSpeed's that end in front of the program, or go on with what only one would take.

    FunCodec 3435d87 egs/jamendo/text2music_laura/run.sh:189: `torchrun --nproc_per_node=4 --text …`, and no program.
    """
    for script, launch in files.launches():
        text = script.command_at(launch.place.line)
        if (
            _is_of_several(launch)
            and (_ends_early(launch) or _goes_on_without(launch, text))
            and launch.options.keys().isdisjoint({"m", "module", "h", "help", "no_python"})
            # `<script>.py` is to be filled in; what an option takes that nobody knows may be the program.
            and "<" not in text
        ):
            advice = "Name it behind the launcher's options"
            text = f"This launch names no program: the launcher ends, and no rank starts. {advice}."
            fix = Fix(Applicability.DISPLAY, advice)
            yield Finding(CODE, NAME, SEVERITY, text, launch.place, (), fix)


def _without_launcher(files: LaunchFiles) -> Iterator[Finding]:
    """Commands that begin with a variable for the launcher, which another script alone sets."""
    for script in files.scripts:
        for name, program, other, place in launchers_unset(files, script):
            advice = f"Set it here, as {other} does"
            text = f"`${name}` is not set in this script: the shell looks for a command `{program}`, and no rank starts. {advice}."
            fix = Fix(Applicability.DISPLAY, advice)
            yield Finding(CODE, NAME, SEVERITY, text, place, (), fix)


def _is_of_several(launch: Launch) -> bool:
    """Whether a launcher is told how many processes to start; DeepSpeed's starts one for each GPU."""
    return launch.launcher is Launcher.DEEPSPEED or (
        launch.launcher in (Launcher.TORCHRUN, Launcher.TORCH_LAUNCH)
        and any(name in launch.options for name in launch.row.processes)
    )


def _ends_early(launch: Launch) -> bool:
    """Whether nothing stands behind the options of torch's launchers; `deepspeed` alone has many meanings."""
    return (
        launch.script is None
        and launch.options_known
        and launch.launcher is not Launcher.DEEPSPEED
        and not any((each.value or "").endswith((".py", ".sh")) for each in launch.options.values())
    )


def _goes_on_without(launch: Launch, text: str) -> bool:
    """Whether a program's own options stand where it should, and no word of the command may be one."""
    return launch.foreign and launch.complete and not _PROGRAM.search(text)


def _python_for_program(files: LaunchFiles) -> Iterator[Finding]:
    """Launches whose program is called `python`: their launchers put Python in front of what they are given.

    modulus 878fd04 examples/weather/graphcast/README.md:73: `torchrun … python train_graphcast.py`. And those in front of which
    Python stands: tgl 99ee829 scripts/slurm-run-dist-launch.sh:32, `srun python python -m torch.distributed.launch`.
    """
    for script, launch in files.launches(told=True):
        program = launch.script
        if not script.followed:
            continue
        if (
            program is not None
            and program.sure
            and program.text in _INTERPRETERS
            and launch.launcher is not Launcher.DEEPSPEED
            and not _is_of_option(script, launch)
            and launch.options.keys().isdisjoint({"no_python", "run_path", "m", "module"})
        ):
            yield _run_as_a_file(
                program.text, program.place, "The launcher has", f"`{program.text}`"
            )
        elif (name := _behind_python(files, script, launch)) is not None:
            yield _run_as_a_file(name, launch.place, "This command has", "the first `python`")


def _behind_python(files: LaunchFiles, script: Script, launch: Launch) -> str | None:
    """The launcher that Python is given for a file, where no file is called so."""
    *first, last = (word.text for word in launch.before) if launch.before else (None,)
    of_option = bool(first) and (first[-1] or "-").startswith("-")  # `conda run -n python torchrun`
    if last not in _INTERPRETERS or of_option or not launch.file:
        return None
    line = split_lines(script.text)[launch.place.line - 1].encode()[launch.place.column :]
    found = _BARE.match(line.decode())
    return found[0] if found is not None and not files.has_name(found[0]) else None


def _run_as_a_file(name: str, place: Place, who: str, what: str) -> Finding:
    advice = f"Leave {what} out"
    text = f"{who} Python run a file called `{name}`, which is not there: every rank ends as it starts. {advice}."
    return Finding(CODE, NAME, SEVERITY, text, place, (), Fix(Applicability.DISPLAY, advice))


def _is_of_option(script: Script, launch: Launch) -> bool:
    """Whether another word in front may be the program, or the value of an option that is not known to be a flag."""
    return not launch.options_known and "<" not in script.command_at(launch.place.line)


def _of_launches(files: LaunchFiles) -> Iterator[_Missing]:
    for script, launch in files.launches(told=True):
        if script.followed:
            for name, place in missing(files, script, launch):
                runs = launch.script is not None and launch.script.place == place
                meant = _elsewhere(files, name) if runs else ""
                at = written_at(script, name, place)
                yield _Missing(name, at, script.reported and not script.told, meant=meant)
        if not script.told:
            for name, place in missing_beside(files, script, launch):
                yield _Missing(name, place, script.reported)
    for script in files.scripts:
        for name, place in missing_scripts(files, script):
            yield _Missing(name, place, script.reported, _SCRIPT)
        for name, place in missing_tasks(files, script):
            yield _Missing(name, place, script.reported)
        for name, place, meant in missing_configurations(files, script):
            yield _Missing(name, place, script.reported, _FILE, meant)
        if not script.told:
            for name, place in missing_copies(files, script):
                yield _Missing(name, place, script.reported)
            for name, place in missing_modules(files, script):
                yield _Missing(name, place, script.reported, _MODULE)
        for name, place in missing_of_packages(files, script):
            yield _Missing(name, place, script.reported and not script.told, _IN_PACKAGE)
        for name, place, meant in files_for_modules(files, script):
            yield _Missing(name, place, script.reported and not script.told, _AS_A_FILE, meant)
        for name, place, meant in modules_for_files(files, script):
            yield _Missing(name, place, script.reported and not script.told, meant=meant)
    for chooser, name, place in missing_options(files):
        yield _Missing(name, place, chooser is None or (chooser.reported and not chooser.told))
    for script, module, meant, place in missing_packages(files):
        yield _Missing(module, place, script.reported, _PACKAGE, meant)


def _of_accelerate(files: LaunchFiles) -> Iterator[_Missing]:
    """The JSON of DeepSpeed that configurations of accelerate name.

    InternImage 31c962d classification/configs/accelerate/dist_8gpus_zero3_offload_wo_loss_scale.yaml.
    """
    for each in files.of(Format.ACCELERATE):
        keys = ("deepspeed_config", "deepspeed_config_file")
        name = section_of(each.values, keys[0]).get(keys[1])
        if (
            isinstance(name, str)
            and is_written_out(name)
            and files.is_absent(name, each.path)
            and (files.has_beside(name, each.path) or _is_nobodys(files, name))
        ):
            yield _Missing(name, each.place(keys), True)


def _is_nobodys(files: LaunchFiles, name: str) -> bool:
    """Whether no file of the project has a name without a folder, and no script or page speaks of one.

    multi-gpu-sft 3d927ab configs/default_config.yaml:4: `deepspeed_config_file: ds_config.json`.
    """
    return (
        "/" not in name
        and not files.has_name(name)
        and not any(name in s.text for s in files.scripts)
    )


def _elsewhere(files: LaunchFiles, program: str) -> str:
    """The only other file of the name of a program: where configurations of old runs are kept says nothing."""
    base = posixpath.basename(program)
    found = [each for each in files.names if posixpath.basename(each) == base]
    return found[0] if len(found) == 1 else ""
