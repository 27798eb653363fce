"""A launch passes an argument that its script refuses, or the launcher itself.

## What it does
Finds launches in shell scripts, READMEs and at the head of the script (docstring and comments) whose script has an `argparse`
that does not take what it is given: an option that nobody declares, or that is declared with a hyphen for the underscore or with another dash in front, a value that is none of the choices, or a text
where a number is wanted, or none where one is, or a word that
belongs to no option, where there are only options (`--dir= "$DATA"`); transformers' `HfArgumentParser` counts, too, and a parser in the function of another file that the script calls. A script that
spawns its ranks, or is given several GPUs, is launched by plain `python`. So does a key (`model.width=8`) that the configuration
of a script of hydra's does not have, where all of it is YAML of the project; and options in front of the
script that the launcher does not have, where one that it has is spelled alike (`torchrun --nproc_per_nodes 8`), two that it
does not take together (`deepspeed --include localhost:0,1 --num_gpus 2`), long options of Slurm with one dash (`srun -mem=0`), and options
that are given a variable which nothing sets (`--model $MODEL`), where the script sets another of nearly that name, and does
not use it, or where a number of the launcher is to stand that other scripts write out (`--nproc_per_node=$n`), or `CUDA_VISIBLE_DEVICES` is such a
variable, and the others hold devices in it; shell scripts that exit by the number of their arguments (`if [ $# -lt 9 ]`), and are given such a number, or that
give the launcher an argument for a number (`--nproc_per_node $2`), and are started without that one; and scripts without `#!`
that `sbatch` or `srun` is to start.

## Why it is bad
`argparse` ends every rank as it starts. The script has changed since the launch was written, and whoever follows it has to
find out what is meant now.

## Errors you may see
- `error: unrecognized arguments: --...`
- `error: argument --...: invalid choice: '...'`
- `error: argument --...: invalid int value: '0,1,2,3'`
- `error: argument --...: expected one argument`
- `sbatch: error: This does not look like a batch script`
- `ValueError: Cannot specify num_nodes/gpus with include/exclude`
- `Could not override '...'. Key '...' is not in struct`
- `ValueError: Some specified arguments are not used by the HfArgumentParser`
- `ChildFailedError`

## Example
```python
# torchrun --nproc_per_node 8 sample.py --max-size 64
parser = argparse.ArgumentParser()
parser.add_argument("--max_size", type=int)
args = parser.parse_args()
```

## Use instead
```python
# torchrun --nproc_per_node 8 sample.py --max_size 64
parser = argparse.ArgumentParser()
parser.add_argument("--max_size", type=int)
args = parser.parse_args()
```

## Fix safety
Shown only: whether the launch is meant to change or the script, a person has to say.

## Known limits
The parser is to be the only one of its file, or to have its options of the only other one (`parents`), and all of its
arguments are to be added in one function, which may give it back to who parses with it, each under a name
that is written out, or on the parser that a script makes at its top and parses with in a function; choices count where all that they are put together from is known; `HfArgumentParser` has an option for each field of its dataclasses, where all of these are known. Of
transformers' own TrainingArguments, those of any version count. Silent where a parser is handed on, has subparsers, or
reads known arguments alone; and for pages other than a README, but of scripts that lie beside them, or whose parser has most of
the options that are told. Of hydra, silent where a launch chooses an option of a group or names another configuration, and
beside structured configurations. Options without a name
behind `--` do not count. A script that reads another (`source`) may get variables from it, and a launch with several that nothing sets gets them
from outside. What a library reads from the environment (`NCCL_…`) is used.

Not proven: no rank starts.

## References
- CPython 3.13, Lib/argparse.py: `parse_args`, `_get_option_tuples` (beginnings of names)
- deepspeed 0.19.8, launcher/runner.py: `main`; accelerate 1.15.0, commands/launch.py: `_validate_launch_command`
- Slurm 24.05, src/common/slurm_opt.c: `slurm_process_option`
- hydra 1.3.2, _internal/config_loader_impl.py: `_apply_overrides_to_config`
- transformers 5.23.0, hf_argparser.py: `_parse_dataclass_field`, `parse_args_into_dataclasses`
- Bagel 056b5fd scripts/eval/run_wise.sh:12, CausVid ca21150 README.md:100
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.definitions import Module
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.launch.commands import Launch, Option, Plain
from distlint.launch.counted import left_out, miscounted
from distlint.launch.interpreter import without_interpreter
from distlint.launch.made import enters
from distlint.launch.one_dash import written_with_one_dash
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.unset import devices_unset, numbers_unset, unset
from distlint.patterns import pattern
from distlint.rule import Status

from .dataclass_options import dataclass_parser_of
from .overrides import overridden
from .parsers import Parser, called_parser_of, parser_of

CODE = "DL817"
NAME = "argument-refused"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"_mp_fn(", b"mp.spawn(", b"hydra.main(")
"""What transformers' xla_spawn.py calls: a script with nothing but it and a call, as LLaMA-Factory's src/train.py, holds no
other word of distributed code. Nor has one that spawns processes in which it makes no group."""

NEEDS_RANKS = False  # a parser ends one process as well, and a launch of the script is known
_SHOWN = 4
_KNOWN = 3
"""So many options of a launch that a page tells does the parser know at least, where it is of this project."""
_STANDS_FOR = pattern(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|N|XX+|[A-Za-z_]\w*[*+/]\S*")
"""A value on a page that the reader replaces: SeedVR 673b563 readme.md:166, `--seed SEED_NUM --res_h OUTPUT_HEIGHT`; ThinkSound
4e2cfd5 docs/Dataset.md:22, `--audio_samples duration_sec*44100`."""
_ARGPARSE = pattern(r"(?<!Hf)ArgumentParser\(")


def check(model: Model) -> Iterator[Finding]:
    """The place where a script's arguments are parsed, where launches pass what it does not take."""
    yield from _by_hydra(model)
    files = model.program.modules.values()
    if not any("ArgumentParser(" in each.source.text for each in files):
        return
    refused: dict[ast.Call, list[tuple[str, Place]]] = {}
    homes: dict[ast.Call, Module] = {}
    for module in model.modules:
        started = [each for each in _starts(model, module) if _is_of_it(model, *each)]
        parser = _parser_of(model, module) if started else None
        if parser is not None:
            homes[parser.parsing] = parser.module
            refused.setdefault(parser.parsing, []).extend(
                (why, option.place)
                for script, launch in started
                for option in launch.arguments.values()
                if _tells_of_it(module, script, launch, parser)
                and (why := parser.refuses(_as_told(script, option), model.program)) is not None
                and not (option.bare and _may_be_filled_in(script, option))
                and not (script.told and _stands_for_it(option))
            )
    advice = "Change the launch, or what the script declares"
    for parsing, found in refused.items():
        if found:
            text = f"A launch of this script ends on every rank with {found[0][0]}. {advice}."
            places = [Related(at, "given here") for _, at in found[:_SHOWN]]
            fix = Fix(Applicability.DISPLAY, advice)
            place = place_of(homes[parsing], parsing)
            yield Finding(CODE, NAME, SEVERITY, text, place, tuple(places), fix)


def _by_hydra(model: Model) -> Iterator[Finding]:
    """The decorators of scripts whose configuration lacks what launches override, each with the launches."""
    for module in model.modules:
        found: dict[ast.expr, list[tuple[str, Place]]] = {}
        for decorator, key, place in overridden(model, module):
            found.setdefault(decorator, []).append((key, place))
        for decorator, given in found.items():
            advice = "Name a key that the configuration has, or write `+` in front of one that it is to get"
            text = (
                f"hydra refuses `{given[0][0]}`, which its configuration does not have: the program ends, and no rank starts. "
                f"{advice}."
            )
            first = {place.path: place for _, place in reversed(given)}
            places = [Related(at, "given here") for at in sorted(first.values(), key=_in_order)]
            fix = Fix(Applicability.DISPLAY, advice)
            place = place_of(module, decorator)
            yield Finding(CODE, NAME, SEVERITY, text, place, tuple(places[:_SHOWN]), fix)


def _in_order(place: Place) -> tuple[str, int]:
    return place.path, place.line


def _starts(model: Model, module: Module) -> list[tuple[Script, Launch | Plain]]:
    """The launches that start a script, and none that is nearer to them under that name.

    ProphetNet 5cf70eb JGR/warmup-generator/run_train.sh:2 starts the `run_train.py` beside it, not the one above. Plain
    Python starts the ranks of a script that makes them itself.
    """
    path, files = module.path, model.launch
    sure = [launch for _, launch in files.surely_starting(path)]
    named = [each for each in files.starting(path) if any(each[1] is launch for launch in sure)]
    return [*named, *files.starting_elsewhere(path), *_alone(files, module)]


def _alone(files: LaunchFiles, module: Module) -> Iterator[tuple[Script, Plain]]:
    """The commands that start a script by Python alone, where it spawns its ranks, or is given several GPUs.

    ESFT 579a771 scripts/eval.sh:4: `python eval_multigpu.py --eval_datasets=…`, which calls `mp.spawn`.
    awesome-semantic-segmentation-pytorch d37d2a1 scripts/fcn32s_vgg16_pascal_voc_dist.sh:5: `CUDA_VISIBLE_DEVICES=0,1,2,3 python
    train.py … --batch_size 16`.
    """
    for script, plain in files.alone(module.path):
        visible = plain.command.environment.get("CUDA_VISIBLE_DEVICES")
        if files.called(plain.script.text or "", script.path) == module.path and (
            "spawn(" in module.source.text or (visible is not None and "," in (visible.text or ""))
        ):
            yield script, plain


def _as_told(script: Script, option: Option) -> Option:
    """An option as far as what is written of it is meant: what a page has behind one may be words of a placeholder."""
    return replace(option, behind=None) if script.told else option


def _stands_for_it(option: Option) -> bool:
    """Whether a page has a word in the place of a value: in brackets, or the option's own name.

    TaoVtxRecon_DL f4802ff README.md:6: `--batch_size batch_size`.
    """
    value = option.value or ""
    own = option.written.lstrip("-").replace("-", "_").lower()
    return _STANDS_FOR.fullmatch(value) is not None or value.replace("-", "_").lower() == own


def _may_be_filled_in(script: Script, option: Option) -> bool:
    """Whether something stands behind an option all the same: a variable that the script leaves empty."""
    return (
        re.search(rf"{re.escape(option.written)}[\s\\]*(?:$|--)", script.text, re.MULTILINE) is None
    )


def _parser_of(model: Model, module: Module) -> Parser | None:
    if _ARGPARSE.search(module.source.text):
        return parser_of(model, module)
    return called_parser_of(model, module) or dataclass_parser_of(model, module)


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """The options in front of the program that the launcher does not have, and those whose variable nothing sets."""
    for script, launch in files.launches(told=True):
        for option, meant in launch.refused() if script.followed else ():
            happens = (
                f"`{launch.launcher.value}` has no option `{option.written}`: it ends with `unrecognized arguments`, and "
                "no rank starts"
            )
            yield _in_launch(happens, f"Write `{meant}`", option.place)
        if (both := launch.contradicting()) is not None and script.followed:
            first, second = (each.written for each in both)
            happens = (
                f"`{launch.launcher.value}` does not take `{second}` with `{first}`: it ends with a `ValueError`, and no rank "
                "starts"
            )
            yield _in_launch(happens, "Leave out one of them", both[1].place)
    for script in files.scripts:
        for name, near, place in unset(files, script):
            happens = f"every rank starts without this value: nothing sets `${name}`, and `{near}` is set and not used"
            yield _in_launch(happens, f"Write `${near}`", place)
    for name, written, place in numbers_unset(files):
        happens = f"nothing sets `${name}`: the launcher ends without a number for `{written}`, and no rank starts"
        yield _in_launch(happens, "Write a number, as the other scripts do", place)
    for name, other, place in devices_unset(files):
        happens = f"nothing sets `${name}`: `CUDA_VISIBLE_DEVICES` is empty, and no rank sees a GPU"
        yield _in_launch(happens, f"Set it here, as {other} does", place)
    for script in files.scripts:
        for command, written, place in written_with_one_dash(script):
            happens = f"`{command}` reads `{written}` as the short option `{written[:2]}`, and refuses it: no rank starts"
            yield _in_launch(happens, f"Write `-{written}`", place)
    for name, number, place, counted in miscounted(files):
        happens = f"`{name}` exits where it is given {number} argument{'s' * (number != 1)}, and no rank starts"
        yield _in_launch(
            happens, "Give it as many as it wants", place, Related(counted, "counted here")
        )
    for program, count, option, number in left_out(files):
        happens = (
            f"`{program.text}` is given {count} argument{'s' * (count != 1)}, and `{option.written}` of its launch takes "
            f"argument {number}: the launcher ends without it, and no rank starts"
        )
        at = Related(option.place, "taken here")
        yield _in_launch(happens, "Give it that one", program.place, at)
    for script in files.scripts:
        for name, program in without_interpreter(files, script):
            happens = f"`{name}` refuses `{program.text}`, whose first line does not begin with `#!`: no rank starts"
            yield _in_launch(happens, "Begin the script with `#!/bin/bash`", program.place)


def _in_launch(happens: str, advice: str, place: Place, *related: Related) -> Finding:
    fix = Fix(Applicability.DISPLAY, advice)
    return Finding(CODE, NAME, SEVERITY, f"{happens}. {advice}.", place, related, fix)


def _is_of_it(model: Model, script: Script, launch: Launch | Plain) -> bool:
    """Whether a launch surely starts the script: another folder may have one of that name."""
    written = launch.script.text or "" if launch.script is not None else ""
    name = posixpath.basename(written)
    same = [m for m in model.modules if posixpath.basename(m.path) == name]
    return len(same) == 1 or posixpath.isabs(written) or not any(enters(script))


def _tells_of_it(module: Module, script: Script, launch: Launch | Plain, parser: Parser) -> bool:
    """Whether a launch is of this project: other pages than a README may tell of another one.

    A page that lies beside what it starts is (Qwen-Audio b50fb95 eval_audio/EVALUATION.md:207), and one with whose launch the parser goes along for the most part: mdetr
    ea09acc .github/gqa.md:58 starts `main.py` with ten options, of which it has nine.
    """
    written = launch.script.text or "" if launch.script is not None else ""
    beside = posixpath.join(posixpath.dirname(script.path), written) == module.path
    known = sum(option.written in parser.options for option in launch.arguments.values())
    return (
        script.followed
        or (beside and "/" not in written)
        or (known >= _KNOWN and known * 2 > len(launch.arguments))
    )
