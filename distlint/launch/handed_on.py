"""Shell scripts that scripts and pages start, and the configurations that these hand on to what they launch."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from distlint.findings import Place
from distlint.knowledge.configuration.launchers import STARTS_BY_FILE
from distlint.launch.absent import (
    CONFIGURATIONS,
    configurations,
    is_made_above,
    is_missing,
    is_nowhere,
    is_written_out,
)
from distlint.launch.commands import SHELLS, Launch, script_started
from distlint.launch.kinds import is_readme
from distlint.launch.made import MAKES, enters, makes_files
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.shell import Word
from distlint.patterns import pattern

_CONFIGURED: Final = (".py", ".yaml", ".yml")
_BINDS: Final = frozenset({"-B", "--bind", "-v", "--volume"})
_INSIDE: Final = pattern(r":(/[\w./-]*\w)(?::\w+)?$")
"""What a folder is called in a container, behind its path outside."""
_OPENED: Final = frozenset({"config", "cfg", "config_file", "cfg_file", "config_path", "cfg_path"})
"""What programs call the setting that names their configuration."""


def missing_scripts(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place]]:
    """The shell scripts that a script or page starts and the project lacks, beside others with launches.

    FAN ee1b7df segmentation/scripts/eval_city_c.sh:7 starts `./tools/dist_test_c.sh`, which is tools/dist_test_city_c.sh.
    """
    started = [found[0] for c in script.commands if (found := script_started(c)) is not None]
    for word in started if is_readme(script.path) else ():
        if _is_cut_off(files, script, word):
            yield word.text or "", word.place
    if makes_files(script):
        return
    if not script.told:
        yield from _missing_inside(files, script)
    if script.told:
        yield from _missing_of_page(files, script, started)
        return
    for word in started:
        name = posixpath.normpath(word.text or "")
        bare = "/" not in name and not word.own
        if files.launching_beside(word.text or "", script.path) and (
            _is_nowhere_at_all(files, script, name) if bare else is_missing(files, word, script)
        ):
            yield word.text or "", word.place


def _missing_inside(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place]]:
    """The scripts with launches that a container is to start below a folder of the machine's, and that lie further down.

    DDPM-weather 7b1914d slurm/singularity_stuff/start_singularity.sh:18: `--bind $SOURCE_DIR:/ddpm … bash /ddpm/slurm/train.sh`,
    which is slurm/singularity_stuff/train.sh.
    """
    for command in script.commands:
        bound = [
            following.text or "".join(following.around[-1:])
            for word, following in pairwise(command.words)
            if word.text in _BINDS
        ]
        inside = [found[1] for each in bound if (found := _INSIDE.search(each)) is not None]
        for shell, word in pairwise(command.words) if inside else ():
            name = word.text or ""
            for folder in inside if shell.text in SHELLS and word.sure else ():
                path = name.removeprefix(f"{folder}/")
                moved = files.moved(path, script.path) if path != name else ""
                if (
                    name.endswith(".sh")
                    and moved
                    and files.is_absent(path, script.path)
                    and files.launching(posixpath.basename(moved), moved)
                ):
                    yield name, word.place


def missing_copies(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place]]:
    """The programs that a script copies into another folder to start them there, and that the project lacks.

    crossnorm-selfnorm 58e8c73 segmentation/tool/train.sh:25: `cp tool/train.sh tool/train_adabn.py … ${exp_dir}`, and then
    `python -u ${exp_dir}/train_adabn.py`.
    """
    if makes_files(script, MAKES - {"cp", "tee"}):
        return
    for command in script.commands:
        words = command.words
        copied = words[1:-1] if words and words[0].text == "cp" else ()
        for word in copied:
            name = word.text or ""
            started = (
                rf"^\s*(?:python[\d.]*|torchrun)\b[^#\n]*/{re.escape(posixpath.basename(name))}\b"
            )
            if (
                name.endswith(".py")
                and word.sure
                and is_missing(files, word, script)
                and re.search(started, script.text, re.MULTILINE)
            ):
                yield name, word.place


def missing_tasks(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place]]:
    """The files by which commands that start a process for each GPU are told what to do, and that the project lacks.

    MiniCPM 0fcc3d0 minicpm_sala/finetune/llama_factory/scripts/lora_finetune.sh:1: `llamafactory-cli train
    configs/minicpm_lora_sft.yaml`, which is configs/minicpm_sft_lora.yaml.
    """
    if makes_files(script) or not script.followed:
        return
    for command in script.commands:
        names = [word.text for word in command.words[:2]]
        word = command.words[2] if len(command.words) > 2 else None
        visible = command.environment.get("CUDA_VISIBLE_DEVICES")
        if (
            word is not None
            and tuple(names) in STARTS_BY_FILE
            and word.sure
            and (word.text or "").endswith(_CONFIGURED[1:])
            and (visible is None or "," in (visible.text or ""))
            and is_missing(files, word, script)
        ):
            yield word.text or "", word.place


def _is_nowhere_at_all(files: LaunchFiles, script: Script, name: str) -> bool:
    """Whether no folder of the project has a file of a bare name: who starts the script may be in any.

    terapipe 1a17aa2 batch_measure_comm_latency.sh:6: `./measure_comm_latency.sh`.
    """
    return (
        not any(enters(script))
        and is_nowhere(files, name, script)
        and not any(each.rpartition("/")[2] == name for each in files.names)
    )


def _missing_of_page(
    files: LaunchFiles, page: Script, started: list[Word]
) -> Iterator[tuple[str, Place]]:
    """The same for a page, which may tell of other projects: beside launches of a folder that it starts as well.

    MTR a5ba7bd docs/TRAIN_EVAL.md:14: `cd tools`, `bash scripts/dist_test.sh 8`; `scripts/dist_train.sh`, above, is there.
    What lies further down under that name is started there: Parametric-Contrastive-Learning fe56535 README.md:171, `cd
    Full-ImageNet`, which is a folder of `PaCo`.
    """
    named = [
        (posixpath.normpath(text), word.place)
        for word in started
        if is_written_out(text := word.text or "")
    ]
    entered = ("", *enters(page))
    launching = {
        posixpath.dirname(name)
        for name, _ in named
        if any(files.launching(posixpath.join(folder, name), page.path) for folder in entered)
    }
    for name, place in named:
        if (
            "/" in name
            and posixpath.dirname(name) in launching
            and is_nowhere(files, name, page)
            and not any(each.endswith(f"/{name}") for each in files.names)
        ):
            yield name, place


def _is_cut_off(files: LaunchFiles, page: Script, word: Word) -> bool:
    """Whether no file has the name of a script that a README starts without a folder, and scripts with launches beside the page
    have more behind it.

    PasoDoble 16dae4f README.md:44: `bash train_online.sh`, beside train_online_4_cards.sh and train_online_8_cards.sh.
    """
    name = posixpath.normpath(word.text or "")
    return (
        "/" not in name
        and is_written_out(name)
        and not files.has_name(name)
        and files.begun_beside(name, page.path)
        and is_nowhere(files, name, page)
        and not is_made_above(files, page, word)
    )


def missing_configurations(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place, str]]:
    """The configurations that a script or README has a program read, itself or by a script that hands them on, and that are
    not there, each with the one that is meant: where its name lacks the end, or else empty.

    FAN ee1b7df segmentation/scripts/fan_large_hybrid_city.sh:7: `./tools/dist_train.sh local_configs/…160k 8`, which the
    script launches `train.py $CONFIG` with; mmcv opens a file of that very name.
    """
    if not script.followed or (makes_files(script) and not script.told):
        return
    for launch in script.launches:
        for word in (
            *_configurations_opened(files, script, launch),
            *_opened(files, script, launch),
        ):
            if (
                not is_made_above(files, script, word)
                and (meant := _without_end(files, script, word)) is not None
            ):
                yield word.text or "", word.place, meant
    for called, words in files.handing(script):
        for launch in called.launches:
            opened = any(_configurations_opened(files, called, launch))
            for word in configurations(launch):
                if not 0 < word.given <= len(words):
                    continue
                given = words[word.given - 1]
                if is_made_above(files, script, given):
                    continue
                meant = _without_end(files, script, given) if opened else None
                ends = (given.text or "").endswith(_CONFIGURED)
                if meant is None and ends and given.sure and is_missing(files, given, script):
                    meant = ""
                if meant is not None:
                    yield given.text or "", given.place, meant


def _opens(files: LaunchFiles, script: Script, launch: Launch) -> tuple[str, ...]:
    """The settings whose values the program that is launched opens as files."""
    text = launch.script.text if launch.script is not None else None
    return files.opening_configs.get(files.called(text or "", script.path), ())


def _opened(files: LaunchFiles, script: Script, launch: Launch) -> Iterator[Word]:
    """What a launch gives for the settings whose values the program opens as files.

    SEED 93b3cf4 MultiModalLLM/scripts/train_a100_lora_multi_node_sft.sh:21: `--model configs/model/…_pretrain`, and
    `OmegaConf.load(cfg_path.model)`.
    """
    for name in _opens(files, script, launch):
        option = launch.arguments.get(name)
        if option is not None and name not in CONFIGURATIONS:
            yield option.word or Word(option.value, option.place, option.sure)


def _configurations_opened(files: LaunchFiles, script: Script, launch: Launch) -> Iterator[Word]:
    """The configurations that a launch names, where the program opens its own under that very name."""
    if not _OPENED.isdisjoint(_opens(files, script, launch)):
        yield from configurations(launch)


def _without_end(files: LaunchFiles, script: Script, word: Word) -> str | None:
    """The configuration that is meant by a name without its end, which the program that is launched opens as it is."""
    name = word.text or ""
    if (
        not word.sure
        or "/" not in name
        or not is_written_out(name)
        or name.endswith((*_CONFIGURED, ".json", "/"))
        or not is_nowhere(files, name, script)
    ):
        return None
    return next((name + end for end in _CONFIGURED if files.called(name + end, script.path)), None)
