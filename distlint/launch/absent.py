"""Programs and configurations that a launch names, and that are not in the project."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from distlint.columns import split_lines
from distlint.findings import Place
from distlint.launch.commands import OF_PYTHON, Launch, Option, launches, starts_ranks
from distlint.launch.made import MAKES, enters, makes_files, may_put, seen_from, where
from distlint.launch.project import Configuration, Format, LaunchFiles, Script
from distlint.launch.shell import Command, Word
from distlint.patterns import pattern

CONFIGURATIONS: Final = frozenset(
    {
        "c",
        "config",
        "cfg",
        "cfg_file",
        "cfg_path",
        "config_file",
        "config_path",
        "deepspeed",
        "deepspeed_config",
        "ds_config",
    }
)
"""Options by which programs are told a file to read: ULTRA 427966a README.md:248, `-c config/transductive/pretrain.yaml`."""
_READ: Final = (".json", ".yaml", ".yml")
_COUNTS: Final = pattern(r"--(?:nproc[-_]per[-_]node|nnodes)\b")
"""What launchers are told: how many processes, or machines."""
_SHOW: Final = ("echo", "printf")
_IN_COMMENT: Final = pattern(
    r"^[ \t]*#.{0,300}?\b(?:python[\d.]*|torchrun|deepspeed|launch)[ \t]+(?:[^#\n]{0,300}[ \t])?(?:\./)?([\w.+-]+\.py)\b",
    re.MULTILINE,
)
"""A program without a folder that a script once started: AbdMLLM 1c9e505 run.sh:2, `# deepspeed --num_gpus=4 … ./finetune_dsp.py`."""
_DOTTED: Final = pattern(r"[A-Za-z_]\w*(?:\.\w+){2,}")
_MODULE: Final = pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_PYTHON: Final = pattern(r"(?:.*/)?python[\d.]*")
_WRITTEN_OUT: Final = pattern(r"[\w./@+-]+")


def missing(files: LaunchFiles, script: Script, launch: Launch) -> Iterator[tuple[str, Place]]:
    """The files that a launch names and the project lacks, though it has the folder that each would stand in."""
    for word in _named(launch):
        program = word is launch.script
        elsewhere = _program_elsewhere if program else _is_not_where_it_starts
        if (program and _is_not_beside_the_others(files, script, launch)) or (
            not _may_make(files, script, launch, word)
            and (
                is_missing(files, word, script)
                or _is_in_another_folder(files, word, script)
                or elsewhere(files, script, launch, word)
                or (script.told and _is_below_its_folder(files, script, launch, word))
                or _is_not_in_the_folder_of_all(files, script, word)
            )
        ):
            yield word.text or "", word.place


def _may_make(files: LaunchFiles, script: Script, launch: Launch, word: Word) -> bool:
    """Whether a script may make a file that a launch names; a page, above the launch.

    Who clones this very project makes nothing that it lacks: COAT 80ec99f README.md:37, above launches of `scripts/train.py`,
    which examples/OLMo has.
    """
    program = launch.script
    here = (
        word is not program
        and program is not None
        and program.sure
        and any(
            files.folders_with(each, script.path) for each in seen_from(script, program.text or "")
        )
    )
    return any(
        may_put(command, word.text or "", here=here)
        for command in script.commands
        if not script.told or command.line < launch.place.line
    )


def is_made_above(files: LaunchFiles, script: Script, word: Word) -> bool:
    """Whether what a page tells above a command may make a file that it is given, or goes to what is of another project.

    YOLO-World 4f70adb README.md:175 has people clone this very project.
    """
    if not script.told:
        return False
    above = [each for each in script.commands if each.line < word.place.line]
    cloned = [each for each in above if [w.text for w in each.words[:2]] == ["git", "clone"]]
    moves = sorted(script.entered(), key=lambda each: each.place.line)
    return (
        len(cloned) > 1
        or any(may_put(each, word.text or "") for each in above)
        or not _stays_inside(files, script, word.place.line, moves)
    )


def is_missing(files: LaunchFiles, word: Word, script: Script) -> bool:
    """Whether a file is in no folder that it may be looked for in, and others of its kind are where it would stand.

    What begins at the folder of the script itself, or follows `cd "$(dirname "$0")"`, is in one folder alone: FAN ee1b7df
    detection/tools/dist_test_coco_c.sh:27, `$(dirname "$0")/test_cocoC.py`.
    """
    name = word.text or ""
    path = _path_of(word, script)
    if path is not None:
        return files.lacks(path) or _was_moved_below(files, path, script)
    return is_nowhere(files, name, script) and (
        bool(files.moved(name, script.path))
        or any(files.has_beside(each, script.path) for each in seen_from(script, name))
    )


def _was_moved_below(files: LaunchFiles, path: str, script: Script) -> bool:
    """Whether the folder of a file is not there, and the only file of its name is in another place below that of the script.

    qdtrack c5b1047 tools/dist_test_search.sh:9: `$(dirname "$0")/analysis/mot/mot_param_search.py`, which is in tools. The
    folder of a submodule that nobody has fetched is there, and empty.
    """
    folder, found = posixpath.dirname(script.path), files.only_one_called(posixpath.basename(path))
    return (
        bool(found)
        and not files.has(path)
        and not files.has(posixpath.dirname(path) or ".")
        and all(not folder or each.startswith(f"{folder}/") for each in (path, found))
    )


def _is_below_its_folder(files: LaunchFiles, script: Script, launch: Launch, word: Word) -> bool:
    """Whether a configuration that a page names is further down, seen from the only folder below in which the program is.

    MiniCPM 0fcc3d0 minicpm_sala/finetune/README.md:92 starts `finetune.py`, which is in trainer, with
    `--deepspeed configs/ds_config_zero3.json`, which is in configs/deepspeed there.
    """
    program, name = launch.script, posixpath.normpath(word.text or "")
    if program is None or word is program or not program.sure or not name.endswith(_READ):
        return False
    started = files.folders_below_with(program.text or "", script.path)
    if len(started) != 1 or not is_nowhere(files, name, script):
        return False
    path = posixpath.join(started[0], name)
    return (
        "/" in name
        and not files.has(path)
        and any(
            posixpath.basename(each) == posixpath.basename(name)
            and each.startswith(f"{posixpath.dirname(path)}/")
            for each in files.names
        )
    )


def _program_elsewhere(files: LaunchFiles, script: Script, launch: Launch, word: Word) -> bool:
    """Whether a program is nowhere, though another file that the launch names is there, and one of its folder and name is in
    another place.

    SmartEdit a65f126 scripts/TrainStage1_7b.sh:7: `fastchat/train/TrainStage1.py`, which is train/TrainStage1.py, and
    `--template_data_path ./data/conv_template_cap_to_img.txt`, which is there.
    """
    name = word.text or ""
    return (
        is_nowhere(files, name, script)
        and bool(files.with_the_end_of(name))
        and any(
            "/" in posixpath.normpath(text) and files.folders_with(text, script.path)
            for text in _given(launch)
            if is_written_out(text) and not posixpath.isabs(text)
        )
    )


def _is_not_in_the_folder_of_all(files: LaunchFiles, script: Script, word: Word) -> bool:
    """Whether a file is not there from the folder in which all that start a script do so, and others of its kind are.

    EasyCV 901ff18 benchmarks/tools/dist_extract.sh:12: `tools/extract.py`, which is benchmarks/tools/extract.py.
    """
    name, folder = word.text or "", files.started_in(script)
    return (
        folder is not None
        and not word.own
        and is_written_out(name)
        and not posixpath.isabs(name)
        and not any(enters(script))
        and files.lacks(posixpath.normpath(posixpath.join(folder, name)))
    )


def _is_not_beside_the_others(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether a program named without a folder is nowhere in the project, and most that are started in the same folder lie
    beside the script: those of itself, be it in a comment, or of the scripts beside it; or a file that the launch is given is there.

    LAVENDER 139860e README.md:117: `main_retmc_mlm_head.py`, among launches of `main_qamc_mlm_gen_ans_idx.py` and others that
    are at the top. A page that has a link to such a file has people fetch it. research-contributions 21ed8e5
    DiNTS/run_ensemble.sh:25: `ensemble_multi-gpu.py`, and scripts beside it start `train_multi-gpu.py` and
    `infer_multi-gpu.py`.
    """
    name, folder = bare_program(launch), posixpath.dirname(script.path)
    if not name or not is_written_out(name) or not files.is_absent(name, script.path):
        return False
    if files.has_name(name) and not _is_linked_beside(script, name):
        return False
    moves = sorted(script.entered(), key=lambda each: each.place.line)
    if _is_made_above(script, launch, name) or not _stays_inside(
        files, script, launch.place.line, moves
    ):
        return False
    beside = _started_with(script, launch, moves)
    if not script.told and beside == {name}:
        beside = _started_by_those_beside(files, folder)
    there = {each for each in beside if posixpath.join(folder, each) in files.names}
    return (
        len(there) >= max(1, len(beside - there))
        or (not moves and _is_given_what_is_there(files, script, launch))
    ) and re.search(rf"://\S*/{re.escape(name)}\b", script.text) is None


def _is_linked_beside(page: Script, name: str) -> bool:
    """Whether a page says that a file lies beside it, by a link: EqM c585409 README.md:69, `[`sample_gd.py`](sample_gd.py)`,
    which is in `deprecated`."""
    return page.told and re.search(rf"\]\((?:\./)?{re.escape(name)}\)", page.text) is not None


def _is_given_what_is_there(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether a configuration that a launch names by folder is there, from where it is made.

    multi-gpu-sft 3d927ab README.md:71: `--config_file configs/accelerate_config_zero1.yaml train.py`, and no file is called
    `train.py`.
    """
    return any(
        word.sure and "/" in name and is_written_out(name) and files.called(name, script.path)
        for word in configurations(launch)
        if (name := posixpath.normpath(word.text or "")).endswith(_READ)
    )


def _is_made_above(script: Script, launch: Launch, name: str) -> bool:
    """Whether what stands above a launch may make its program: a command that does, one that has its name as a word and does
    not start it, or one that writes into it (`cat > bench.py <<EOF`)."""
    above = [each for each in script.commands if each.line < launch.place.line]
    started = {each.script.place for each in script.launches if each.script is not None}
    started |= {word.place for each in above if (word := _run_by_python(each)) is not None}
    text = "\n".join(split_lines(script.text)[: launch.place.line - 1])
    return (
        any(may_put(each, name) for each in above)
        or any(
            _may_be_made(word, name)
            for each in above
            for word in (() if each.words and each.words[0].text in _SHOW else each.words)
            if word.place not in started
        )
        or re.search(rf">\|?[ \t]*[\"']?(?:[^\s\"'<>|;&]*/)?{re.escape(name)}(?![\w.-])", text)
        is not None
    )


def _may_be_made(word: Word, name: str) -> bool:
    """Whether a word is the file, in whatever folder or behind `--out=`, or what Jupyter makes such files of."""
    text = word.text if word.text is not None else "/".join(word.around)
    base = re.split(r"[/=]", text)[-1]
    return text == "nbconvert" or base in (name, f"{posixpath.splitext(name)[0]}.ipynb")


def _stays_inside(files: LaunchFiles, script: Script, until: int, moves: list[Word]) -> bool:
    """Whether all folders that a script enters up to a line are of the project: one on a page may be what people clone."""
    cloned = {
        posixpath.basename(text).removesuffix(".git")
        for each in script.commands
        if script.told and [word.text for word in each.words[:2]] == ["git", "clone"]
        for text in [(each.words[-1].text or "").rstrip("/")]
    }
    for line in sorted({each.place.line for each in moves if each.place.line <= until}):
        at = where(moves, line)
        inside = at[1:] if at and at[0] in cloned else at
        if inside and not files.has_folder("/".join(inside), script.path):
            return False
    return True


def _started_with(script: Script, launch: Launch, moves: list[Word]) -> set[str]:
    """The programs without a folder that a script launches in the folder in which it makes one of its launches."""
    at = where(moves, launch.place.line)
    return {
        name
        for each in script.launches
        if (name := bare_program(each)) and where(moves, each.place.line) == at
    } | (set() if script.told or moves else set(_IN_COMMENT.findall(script.text)))


def _started_by_those_beside(files: LaunchFiles, folder: str) -> set[str]:
    """The programs that the shell scripts of a folder launch without one."""
    return {
        name
        for script, launch in files.launches()
        if posixpath.dirname(script.path) == folder and (name := bare_program(launch))
    }


def bare_program(launch: Launch) -> str:
    """The Python file without a folder that a launch starts; empty where it starts another."""
    word = launch.script
    text = word.text if word is not None and word.sure else None
    name = posixpath.normpath(text) if text and text.endswith(".py") else ""
    return "" if "/" in name else name


def _given(launch: Launch) -> Iterator[str]:
    """The words that a program is given and the values of its options, where nothing outside of the script has a say."""
    for word in launch.positional:
        if word.sure and word.text:
            yield word.text
    for option in launch.arguments.values():
        if option.sure and option.value:
            yield option.value


def _is_not_where_it_starts(files: LaunchFiles, script: Script, launch: Launch, word: Word) -> bool:
    """Whether a configuration is not there from the folder in which the program is, nor beside that, though the project has
    one of its name.

    R1-V bbbbe3d src/r1-v/local_scripts/train_qwen2_vl.sh:46 starts `src/open_r1/grpo.py`, which is below src/r1-v, with
    `--deepspeed scripts/zero3.json`, which is there from nowhere: the file is in local_scripts. What another folder has under
    the whole of the name, a program may look for there.
    """
    program, name = launch.script, posixpath.normpath(word.text or "")
    if program is None or not program.text or not program.sure or program.own or word.own:
        return False
    if not (is_written_out(name) and is_written_out(program.text)) or posixpath.isabs(name):
        return False
    folders = files.folders_with(program.text, script.path)
    beside = {posixpath.dirname(posixpath.join(each, program.text)) for each in folders}
    return (
        bool(folders)
        and program.text.endswith(".py")
        and not posixpath.isabs(program.text)
        and name.endswith(_READ)
        and all(map(posixpath.isabs, enters(script)))
        and not any(files.has(posixpath.join(each, name)) for each in {*folders, *beside})
        and not any(f"/{each}".endswith(f"/{name}") for each in files.names)
        and files.has_name(posixpath.basename(name))
    )


def _path_of(word: Word, script: Script) -> str | None:
    """The very path of a file that a word names, where the script says in which folder it is looked for."""
    folder = posixpath.dirname(script.path)
    if word.own:
        return posixpath.normpath(posixpath.join(folder, word.text or ""))
    folders = list(script.entered())
    if len(folders) != 1 or not folders[0].own or not is_written_out(word.text or ""):
        return None
    if posixpath.isabs(word.text or "") or word.place.line < folders[0].place.line:
        return None
    return posixpath.normpath(posixpath.join(folder, folders[0].text or "", word.text or ""))


def _is_in_another_folder(files: LaunchFiles, word: Word, script: Script) -> bool:
    """Whether a configuration is named in a folder that the project has nowhere, and lies beside the script under that name.

    open-r1-multimodal 232b7ba local_scripts/train_qwen2_vl.sh:46: `--deepspeed scripts/zero3.json`, and there is no `scripts`.
    """
    name = posixpath.normpath(word.text or "")
    folder = posixpath.dirname(name)
    return (
        bool(folder)
        and name.endswith(_READ)
        and not script.told
        and posixpath.join(posixpath.dirname(script.path), posixpath.basename(name)) in files.names
        and not any(f"/{posixpath.dirname(each)}".endswith(f"/{folder}") for each in files.names)
        and files.is_absent(name, script.path)
        and (
            is_nowhere(files, name, script)
            or (
                any(enters(script)) and all(each in files.started_behind for each in enters(script))
            )
        )
    )


def missing_beside(
    files: LaunchFiles, script: Script, launch: Launch
) -> Iterator[tuple[str, Place]]:
    """The configuration of accelerate that a launch names without a folder, where its program is beside the script, as
    another configuration is, and this one is not.

    MOSS-RLHF 4865d82 train_rm.sh:11: `--config_file config.yaml`, and the file is accelerate_config.yaml.
    """
    option, program = launch.options.get("config_file"), launch.script
    folder = posixpath.dirname(script.path)
    if option is None or not option.value or not option.sure or program is None or not program.text:
        return
    others = [
        each for each in files.of(Format.ACCELERATE) if posixpath.dirname(each.path) == folder
    ]
    if (
        others
        and "/" not in option.value
        and option.value.endswith((".yaml", ".yml"))
        and posixpath.join(folder, program.text) in files.names
        and not makes_files(script)
        and not any(enters(script))
        and is_nowhere(files, option.value, script)
    ):
        yield option.value, option.place


def missing_modules(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place]]:
    """The modules that a script has Python run as a launcher (`python -m launch --nproc_per_node 8`), and nobody has.

    RegionCLIP 4b8513b pretrain.sh:9. One in a package may be installed: nothing is said of it.
    """
    if makes_files(script):
        return
    for command in script.commands:
        texts = [word.text or "" for word in command.words]
        at = texts.index("-m") + 1 if "-m" in texts else 0
        if (
            1 < at < len(texts)
            and texts[0].rpartition("/")[2].startswith("python")
            and all(each.startswith("-") for each in texts[1:at])
            and texts[at].isidentifier()
            and any(_COUNTS.match(each) for each in texts[at + 1 :])
            and not any(launches([command]))
            and not _is_module(files, script, texts[at])
        ):
            yield texts[at], command.words[at].place


def modules_for_files(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place, str]]:
    """The modules of the project that several processes are to run as files: `mpirun -np 8 python package.train`, without `-m`.

    makani 2dfc4c8 README.md:56: `mpirun -np 256 … python -u makani.train`.

    Yields:
        The module, where it stands, and what is meant.
    """
    if not script.followed:
        return
    run = [_run_by_python(command) for command in script.commands if starts_ranks(command)]
    run += [launch.script for launch in script.launches if launch.options_known]
    for word in run:
        if word is not None and _is_module_for_file(files, script, word):
            yield word.text or "", word.place, f"-m {word.text}"


def files_for_modules(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place, str]]:
    """The files of packages that launches start by their paths, though they import by their place in the package.

    NeuralGaussianForceField fe5d37b scripts/train_ddp.sh:16: `torchrun … train_ddp.py`, which is in dynamic_models and has
    `from .DGSDataset import …`.

    Yields:
        The file, where it stands, and its module.
    """
    moves = sorted(script.entered(), key=lambda each: each.place.line)
    for launch in script.launches if script.followed else ():
        word = launch.script
        if (
            word is not None
            and word.sure
            and (module := files.module_started(script, launch))
            and not _may_make(files, script, launch, word)
            and _stays_inside(files, script, launch.place.line, moves)
        ):
            yield word.text or "", word.place, module


def _run_by_python(command: Command) -> Word | None:
    """What Python runs as a file in a command: the first word behind it that is none of its options."""
    words = iter(command.words)
    if any(_PYTHON.fullmatch(word.text or "") for word in words):
        return next((word for word in words if word.text not in OF_PYTHON), None)
    return None


def _is_module_for_file(files: LaunchFiles, script: Script, word: Word) -> bool:
    """Whether a word names a module of the project by its dots, and no file."""
    text = word.text or ""
    path = f"{text.replace('.', '/')}.py"
    return (
        word.sure
        and _MODULE.fullmatch(text) is not None
        and not files.has_name(text)
        and files.is_absent(text, script.path)
        and any(f"/{each}".endswith(f"/{path}") for each in files.names)
    )


def missing_packages(files: LaunchFiles) -> Iterator[tuple[Script, str, str, Place]]:
    """The modules that scripts start below a package that nobody has, and other scripts below the project's own.

    MARTI a2fe2c7 examples/multi-agent/run_train_mad.sh:102: `python3 -m openrlhf.cli.multi_agent_train_ppo_ray`, which
    examples/single-agent/run_train_code_async.sh:68 calls `marti.cli.multi_agent_train_ppo_ray`.

    Yields:
        The script, the module, the one that is meant, and where it stands.
    """
    started = [
        (script, found.text, found.place)
        for script in files.scripts
        for command in script.commands
        if (found := _module_of(command)) is not None and found.text is not None
    ]
    names = {f"/{each}" for each in files.names}
    own: dict[str, str] = {}
    for _, module, _ in started:
        if any(each.endswith(f"/{module.replace('.', '/')}.py") for each in names):
            own[module.partition(".")[2]] = module
    for script, module, place in started:
        package, _, rest = module.partition(".")
        meant = own.get(rest)
        if (
            meant is not None
            and not script.told
            and not any(f"/{package}/" in each for each in names)
            and not _is_installed(files, package)
            and not makes_files(script, MAKES - {"tee"})
        ):
            yield script, module, meant, place


def missing_of_packages(files: LaunchFiles, script: Script) -> Iterator[tuple[str, Place]]:
    """The modules that a script starts in a package which the project has, and that has others beside, but not these.

    lmm-r1 f917f18 examples/scripts/train_ppo_llama_with_dynamic_sampling.sh:42: `deepspeed --module openrlhf.cli.train_ppo`,
    beside openrlhf/cli/train_ppo_ray.py.
    """
    for command in script.commands if script.followed else ():
        word = _module_of(command)
        path = (word.text or "").replace(".", "/") if word is not None else ""
        if (
            word is not None
            and files.called(f"{path.partition('/')[0]}/__init__.py", script.path)
            and files.has_beside(f"{path}.py", script.path)
            and not files.has_folder(path, script.path)
            and all(files.is_absent(f"{path}{end}", script.path) for end in (".py", ".so", ".pyx"))
            and not any(f"/{each}".endswith(f"/{path}.py") for each in files.names)
            and not makes_files(script, MAKES - {"tee", "git"})
        ):
            yield word.text or "", word.place


def _module_of(command: Command) -> Word | None:
    """The module below a package that a command has Python run, itself or by a launcher."""
    for word, following in pairwise(command.words):
        if word.text in ("-m", "--module") and _DOTTED.fullmatch(following.text or ""):
            return following if following.sure else None
    return None


def _is_installed(files: LaunchFiles, package: str) -> bool:
    """Whether requirements ask for a package, or a script or page has people install it."""
    name = package.replace("_", "-").lower()
    return any(each.name == name for each in files.requirements) or any(
        re.search(rf"install\b[^\n]*\b{name}\b", each.text.replace("_", "-"), re.IGNORECASE)
        for each in files.scripts
    )


def _is_module(files: LaunchFiles, script: Script, name: str) -> bool:
    """Whether a file or folder that the script may be started beside is the module of that name, or one in `src`."""
    found = [f"/{each}" for each in files.names]
    return any(
        not files.is_absent(f"{folder}{name}.py", script.path)
        or any(f"/{folder}{name}/" in each for each in found)
        for folder in ("", "src/")
    )


def is_dead(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether a launch cannot start from any folder: its program, or a file that it names, is not in the project.

    UniControl 472c6cd annotator/uniformer/exp/upernet_global_small/run.sh: `tools/train.py` was not copied along.
    """
    if makes_files(script):
        return False
    program = launch.script
    return (
        program is not None
        and program.sure
        and (program.text or "").endswith(".py")
        and not any(enters(script))
        and is_nowhere(files, program.text or "", script)
    ) or any(not files.called(name, script.path) for name, _ in missing(files, script, launch))


def is_written_out(name: str) -> bool:
    """Whether the name of a file has nothing in it that stands for something else, nor leads up."""
    return _WRITTEN_OUT.fullmatch(name) is not None and ".." not in name.split("/")


def _named(launch: Launch) -> Iterator[Word]:
    """The files that a launch names, where nothing outside of the script has a say in it."""
    program = launch.script
    if program is not None and program.text and program.sure and program.text.endswith(".py"):
        yield program
    for word in configurations(launch):
        if word.sure and (word.text or "").endswith((*_READ, ".py")):
            yield word


def configurations(launch: Launch) -> Iterator[Word]:
    """The configurations that a launch names: by an option, or in front of all options in a folder.

    PixArt-alpha cac2fd3 train.sh:3: `train_controlnet.py configs/…_Half.py`.
    """
    for word in launch.positional:
        if word.given or ("/" in (word.text or "") and not (word.text or "").endswith(".json")):
            yield word
    for option in (*launch.options.values(), *launch.arguments.values()):
        if option.name.rpartition(".")[2] in CONFIGURATIONS:  # `--training_arguments.deepspeed`
            word = option.word or Word(option.value, option.place, option.sure)
            yield replace(word, place=option.place)


def written_at(script: Script, name: str, place: Place) -> Place:
    """Where a name is written that a command has of a variable: `CMD="torchrun …"`, `eval $CMD`."""
    lines = split_lines(script.text)
    if place.line > len(lines) or name in lines[place.line - 1]:
        return place
    for number, line in enumerate(lines[: place.line - 1], 1):
        if name in line:
            start = len(line[: line.index(name)].encode())
            return Place(place.path, number, start, number, start + len(name.encode()))
    return place


def json_named(files: LaunchFiles, name: str, script: Script) -> Configuration | None:
    """DeepSpeed's JSON that a launch names, in the folder of the script or in one that it changes to."""
    for each in seen_from(script, name):
        found = files.named(each, script.path, Format.DEEPSPEED)
        if found is not None:
            return found
    return None


def jsons_named(files: LaunchFiles, option: Option, script: Script) -> Iterator[Configuration]:
    """DeepSpeed's JSONs that an option may name: all of a folder that fit, where a part of the name is not known.

    video-SALMONN-2 61faec0 video_SALMONN2_plus/scripts/train.sh:68: `--deepspeed scripts/zero${DEEPSPEED}.json`.
    """
    around = option.word.around if option.word is not None else ()
    if option.value is not None:
        found = json_named(files, option.value, script)
        yield from () if found is None else (found,)
    elif len(around) == 2 and around[0] and not around[0].endswith("/") and "/" not in around[1]:
        start, end = around
        for path in sorted(each.path for each in files.of(Format.DEEPSPEED)):
            base = posixpath.basename(path)
            if base.startswith(posixpath.basename(start)) and base.endswith(end):
                named = posixpath.join(posixpath.dirname(start), base)
                found = json_named(files, named, script)
                if found is not None and found.path == path:
                    yield found


def is_nowhere(files: LaunchFiles, name: str, script: Script) -> bool:
    """Whether a file is in no folder that the script may be started in, or changes to.

    SLAM-LLM a68e78f examples/aac_audiocaps/scripts/finetune_eat_audiocaps.sh:9 changes to `/root/SLAM-LLM`, its author's.
    """
    folder = posixpath.dirname(posixpath.normpath(name))
    folders = [e for e in enters(script) if folder not in files.started_behind.get(e, ())]
    meant = [name, *(posixpath.join(each, name) for each in folders)]
    return all(is_written_out(each) and files.is_absent(each, script.path) for each in meant)
