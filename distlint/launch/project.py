"""What a project is launched with, as rules see it: its configurations and its launches."""

from __future__ import annotations

import enum
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from distlint.columns import split_lines
from distlint.findings import Place
from distlint.knowledge.configuration.deepspeed_keys import TOP_LEVEL
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import full_key, section_of
from distlint.launch.commands import (
    SHELLS,
    Launch,
    Plain,
    has_tasks,
    launches,
    plain,
    ranks_apart,
    script_started,
    starts_ranks,
    tasks_of_a_machine,
    texts_of,
)
from distlint.launch.environments import torch_of
from distlint.launch.json_text import read_json
from distlint.launch.kinds import (
    Kind,
    is_composed,
    is_for_one_gpu,
    is_manifest,
    is_readme,
    kind_of,
    meets_here,
    names_classes,
    of_trainer,
    says_launch,
    tells_devices,
)
from distlint.launch.manifests import pods_of
from distlint.launch.places import Lines
from distlint.launch.shell import SBATCH, Command, Word, commands_of, is_shell
from distlint.launch.tree import Keys, Spans, Unreadable
from distlint.launch.versions import Requirement, closest, near, required
from distlint.launch.written import written_by
from distlint.launch.yaml_text import read_yaml
from distlint.patterns import pattern
from distlint.records import dataclass

_PLACEHOLDER = pattern(r"\{\{|\{%|\$\{|<[A-Za-z_ ]+>")
"""What a program fills in before anybody reads the file: nothing is known of such a configuration."""

_INSTRUCTION = pattern(r"^[ \t]*(?:RUN|CMD|ENTRYPOINT)[ \t]+", re.IGNORECASE | re.MULTILINE)
_SILENT = pattern(r"^\t[ \t]*[@+-]+")
"""What tells make not to show a line, or to go on when it fails."""
_ONE_SHELL = pattern(r"^\.ONESHELL\s*:", re.MULTILINE)
_PROMPT = pattern(r"^(\s*)[$%>] ")
_TO_FILL_IN = pattern(r"<(?=[A-Za-z])[\w./-]+(?: [\w./-]+)*>")
"""What people fill in before they type a command: a shell would read from a file of that name."""
_ENDS_QUOTED = pattern(r"\\{2,3}$")
_TOLD = pattern(
    r"\s*(?:[$%] +)?(?:\w+=\S* +)*(?:python[\d.]* +-m +torch\.distributed\.(?:launch|run) +(?:-|\\{1,3}$)"
    r"|torchrun +(?:-|\\{1,3}$)|accelerate +launch +\S+|deepspeed +(?:-|\S+\.py))|\s*(?:\w+=\S* +)+\\{1,3}$"
)
"""A launch that stands in a page outside of a fenced block: quoted, indented, or by itself."""
_SPACE_BEHIND = pattern(r"\\[ \t]+$")
"""What nobody sees in a page: vidt a8c48b5 README.md:384."""
_INLINE = pattern(r"^\s*(?:[-*+] )?(?:[^`\n]{0,80}:\s*)?`(?P<code>[^`\n]+)`[.:;]?\s*$")
"""A line of nothing but code between backticks, or of that behind a label: DL-Art-School f31a333 README.md:84, STCN eb83102
README.md:209."""
RENUMBERED = pattern(r"\(\)|\bfunction\b|\bshift\b|\bset\s+--|\bgetopts?\b")
"""What gives `$1` another meaning than the first argument of the script."""


_UNKNOWN = "${UNKNOWN__}"
"""In the place of what is not known of a text."""
_ENGINES = frozenset({"deepspeed", "use_deepspeed", "deepspeed_config_file", "fsdp", "use_fsdp"})
"""Options of `accelerate launch` and of transformers' TrainingArguments that choose one."""

_HOSTS = frozenset({"hostfile", "H", "deepspeed_hostfile"})
"""Options that name a file of machines."""

_INSTALLED = frozenset({Kind.REQUIREMENTS, Kind.PROJECT, Kind.LOCK})
"""Kinds of files by which pip, poetry and the like install packages."""

_ENGINE_TYPES = frozenset({"DEEPSPEED", "FSDP"})


class Format(enum.Enum):
    """Whose configuration a file is."""

    ACCELERATE = "accelerate"
    DEEPSPEED = "DeepSpeed"
    TRAINER = "transformers' Trainer"
    """Arguments that a program has transformers read from a file: Firefly e22b406 train_args/sft/full/bloom-1b1-sft-full.json,
    by `HfArgumentParser.parse_json_file`."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file to be read: how it is shown, its kind and its text."""

    path: str
    kind: Kind
    text: str
    reported: bool = True


@dataclass(frozen=True)
class Configuration:
    """A configuration file: its values, and where each of them stands."""

    path: str
    format: Format
    values: dict[str, Any]
    text: str
    spans: Spans
    inside: str = ""
    """The script that writes it, where it is no file of the project."""

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.inside or self.path, self.text)

    def place(self, keys: Keys) -> Place:
        """Where the setting that `keys` lead to stands: key and value, on the key's line.

        For one that is not there, the section that it would stand in; the first key for the file.
        """
        for length in range(len(keys), 0, -1):
            span = self._span(keys[:length])
            if span is not None:
                start, named, _, end = span
                line_end = self.text.find("\n", start)
                whole = end if line_end < 0 else min(end, line_end)
                return self._lines.place(start, max(whole, named))
        start = min((span[0] for span in self.spans.values()), default=0)
        end = min((span[1] for span in self.spans.values()), default=0)
        return self._lines.place(start, end)

    def _span(self, keys: Keys) -> tuple[int, int, int, int] | None:
        if keys in self.spans or len(keys) < 2:
            return self.spans.get(keys)
        # A key of accelerate's sections may leave its prefix out.
        for written in self.spans:
            beside = len(written) == len(keys) and written[:-1] == keys[:-1]
            if beside and full_key(keys[-2], written[-1]) == keys[-1]:
                return self.spans[written]
        return None


@dataclass(frozen=True, slots=True)
class Script:
    """A script with launches: its commands, and what it asks the scheduler for (`#SBATCH`), by name.

    A container in a manifest of Kubernetes is one, too.
    """

    path: str
    commands: tuple[Command, ...]
    launches: tuple[Launch, ...]
    scheduler: dict[str, Word]
    text: str = ""
    told: bool = False
    """Whether it only tells people what to type: a README, another page of Markdown, or the head of a Python file."""
    reported: bool = True
    """Whether what is found in it is asked for."""
    gives: str = "Slurm"
    """Who gives it what the `scheduler` says."""

    @property
    def followed(self) -> bool:
        """Whether its commands are of this project: other pages than a README may tell of another."""
        return not self.told or is_readme(self.path) or self.is_head

    @property
    def is_head(self) -> bool:
        """Whether it is the head of a Python file: how that may be started, in short, and not where it is."""
        return self.told and self.path.endswith(".py")

    @property
    def starts_ranks(self) -> bool:
        """Whether it has launches, be they by MPI or Slurm."""
        return bool(self.launches) or any(map(starts_ranks, self.commands))

    def entered(self) -> Iterator[Word]:
        """The words that name the folders which it changes to, wherever in a command that is said."""
        for command in self.commands:
            for at, word in enumerate(command.words if not command.aside else ()):
                if (word.text or "").rpartition("/")[2] in ("cd", "pushd"):
                    named = [w for w in command.words[at + 1 :] if w.text != "--"]
                    yield named[0] if named else Word(None, word.place)

    def command_at(self, line: int) -> str:
        """The text of the command that begins in a line, with the lines that go on with it."""
        lines = split_lines(self.text)[line - 1 :]
        end = next(
            (n for n, each in enumerate(lines) if not each.rstrip().endswith("\\")), len(lines)
        )
        return "\n".join(lines[: end + 1])


@dataclass
class LaunchFiles:
    """The configurations, scripts and requirements of a project, and what could not be read."""

    configurations: list[Configuration] = field(default_factory=list)
    scripts: list[Script] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)
    meeting_here: list[bool] = field(default_factory=list)
    """For each configuration with the address at which the processes meet, whether it is this machine's own."""
    notes: list[str] = field(default_factory=list)
    names: Set[str] = frozenset()
    """All files of the project that are known: Python, scripts and configurations. Only `check_launch` may ask."""

    naming: list[TextFile] = field(default_factory=list)
    """The configurations that name classes of the code."""

    names_of_several: Set[str] = frozenset()
    """The names that Python files in several folders have."""

    pages: bool = False
    """Whether any script or page is there that could tell how the program is started."""

    any_rank: Set[str] = frozenset()
    """The Python files that go on with torch's old launcher of any version. Only `check_launch` may ask."""

    hyphen: Set[str] = frozenset()
    """The Python files that take their rank from that launcher as torch 2 spells it. Only `check_launch` may ask."""

    of_mmcv_1: Set[str] = frozenset()
    """The Python files that import what mmcv 2 has no more. Only `check_launch` may ask."""

    in_package: Set[str] = frozenset()
    """The Python files that import by their place in a package, and end as files. Only `check_launch` may ask."""

    spawning: Set[str] = frozenset()
    """The Python files that start a process for each GPU. Only `check_launch` may ask."""

    apart: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """The Python files that train and join no processes, each with the file and line where they go backward. Only
    `check_launch` may ask."""

    clips: Set[str] = frozenset()
    """The Python files that may tell DeepSpeed how much to clip. Only `check_launch` may ask."""

    loads_wrapped: Set[str] = frozenset()
    """The Python files of the project that may load a state into a wrapped model, or take the wrapper's prefix off it."""

    composed: dict[str, str] = field(default_factory=dict)
    """The YAML files by path of which hydra may compose a configuration."""

    trainers: dict[str, str] = field(default_factory=dict)
    """The YAML files by path that may tell a Trainer of Lightning on which devices it trains."""

    composed_in_code: bool = False
    """Whether a Python file may give hydra configurations that are no files. Only `check_launch` may ask."""

    opening_configs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The Python files that open what a setting names, each with the names of these. Only `check_launch` may ask."""

    def takes_any_rank(self, script: Script, launch: Launch) -> bool:
        """Whether the Python file that a launch starts goes on with whatever torch's old launcher passes.

        Or with what that of torch 2 does, where the project wants no older one: ClearerVoice-Studio 6b3774d
        train/speech_enhancement/train.py:126 declares `--local-rank`, and requirements.txt has `torch>=2.0.1`.
        """
        meant = self._meant_by(script, launch)
        return meant in self.any_rank or (
            meant in self.hyphen and self.asks_for("torch", (2,), meant)
        )

    def takes_a_hyphen(self, script: Script, launch: Launch) -> bool:
        """Whether the Python file that a launch starts takes its rank as torch 2's old launcher spells it alone."""
        return self._meant_by(script, launch) in self.hyphen

    def ends_with_mmcv_2(self, script: Script, launch: Launch) -> bool:
        """Whether the Python file that a launch starts ends at its imports, with the mmcv that the project asks for."""
        meant = self._meant_by(script, launch)
        return meant in self.of_mmcv_1 and self.asks_for("mmcv", (2,), meant)

    def module_started(self, script: Script, launch: Launch) -> str:
        """The module that a launch starts as a file, where that ends at an import by its place in a package; else empty."""
        meant = self._meant_by(script, launch) if launch.module is None else ""
        if meant not in self.in_package:
            return ""
        above = posixpath.dirname(posixpath.dirname(meant))
        while above and posixpath.join(above, "__init__.py") in self.names:
            above = posixpath.dirname(above)
        return posixpath.relpath(meant, above or ".").removesuffix(".py").replace("/", ".")

    def starts_in(self, folder: str, script: Script, launch: Launch) -> bool:
        """Whether the Python file that a launch starts may be one of the project, seen from a folder of another machine."""
        path = posixpath.join(folder, launch.file)
        named = self._by_name.get(posixpath.basename(path), ())
        return bool(self._meant_by(script, launch)) or any(
            _common_end(each, path) > 1 for each in named
        )

    def _meant_by(self, script: Script, launch: Launch) -> str:
        """The Python file that a launch starts; empty where it is not known.

        Where none is found beside the script, it is the only one of the project that is called so: EasyNLP a4ee956
        examples/knowledge_distillation/meta_student_distill.sh:16, behind `cd` to a folder of somebody's machine.
        """
        text = launch.script.text if launch.script is not None else None
        if not text:
            return ""
        meant = [each for each in _meant(text, script.path) if each in self.names]
        if not meant:
            tail = "/" + posixpath.normpath(text).lstrip("./")
            meant = [each for each in self.names if f"/{each}".endswith(tail)]
            if len(meant) != 1:
                return ""
        return meant[0]

    def is_absent(self, path: str, beside: str) -> bool:
        """Whether a file that the one `beside` calls `path` is neither in its folder nor in one above.

        Nothing is known of paths that are not relative, nor of a project without Python files.
        """
        if posixpath.isabs(path) or not any(name.endswith(".py") for name in self.names):
            return False
        meant = _meant(path, beside)
        return self.names.isdisjoint(meant) and not any(map(os.path.lexists, meant))

    def has_beside(self, path: str, beside: str) -> bool:
        """Whether files of the kind are in the folder that the file `beside` calls `path` would stand in.

        A bare name is in no folder of its own: nothing is known then.
        """
        kind = posixpath.splitext(path)[1]
        path = posixpath.normpath(path)
        folders = {posixpath.dirname(each) for each in _meant(path, beside)}
        return "/" in path and any(
            name.endswith(kind) and posixpath.dirname(name) in folders for name in self.names
        )

    def moved(self, path: str, beside: str) -> str:
        """The only file of the project with the name of one that is nowhere, where it lies below the folder in which that would
        stand; empty where there is none.

        cogvideox-factory 223add1 training/prepare_dataset.sh:25 starts `training/prepare_dataset.py`, and the file is
        training/cogvideox/prepare_dataset.py.
        """
        found = self.only_one_called(posixpath.basename(path))
        folders = {posixpath.dirname(each) for each in _meant(path, beside)} - {""}
        below = any(found.startswith(f"{folder}/") for folder in folders)
        return found if "/" in posixpath.normpath(path) and below else ""

    def with_the_end_of(self, path: str) -> str:
        """The only file of the project with the name of one that is nowhere, where it has its last folder, too; else empty."""
        found = self.only_one_called(posixpath.basename(path))
        return found if _common_end(found, posixpath.normpath(path)) > 1 else ""

    def only_one_called(self, name: str) -> str:
        """The only file of the project that has a name, in whatever folder; empty where there is none, or several."""
        found = self._by_name.get(name, ())
        return found[0] if len(found) == 1 else ""

    def has_name(self, name: str) -> bool:
        """Whether a file of the project has a name, in whatever folder."""
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The files of the project by the last part of their paths."""
        return _grouped_by_name(sorted(self.names))

    def has_folder(self, path: str, beside: str) -> bool:
        """Whether what the file `beside` calls `path` is a folder with files of the project, or one above it that is, too."""
        folders = set(_meant(path, beside))
        return "." in folders or any(
            name.startswith(f"{folder}/") for folder in folders for name in self.names
        )

    def folders_with(self, path: str, beside: str) -> list[str]:
        """The folders in which the file `beside` may be started so that what it calls `path` is there."""
        return [
            folder
            for folder in _folders_around(beside)
            if self.has(posixpath.normpath(posixpath.join(folder, path)))
        ]

    def folders_below_with(self, path: str, beside: str) -> list[str]:
        """The folders below that of the file `beside` in which what it calls `path` is there."""
        folder, end = _folder_of(beside), f"/{posixpath.normpath(path)}"
        return [
            each.removesuffix(end)
            for each in self._by_name.get(posixpath.basename(path), ())
            if each.startswith(folder) and each.endswith(end)
        ]

    def has(self, path: str) -> bool:
        """Whether a file is there under its very path, of whatever kind."""
        return path in self.names or os.path.lexists(path)

    def lacks(self, path: str) -> bool:
        """Whether a file of the project is not there under its very path, though others of its kind are in that folder."""
        folder, kind = posixpath.dirname(path), posixpath.splitext(path)[1]
        return (
            path not in self.names
            and not os.path.lexists(path)
            and any(n.endswith(kind) and posixpath.dirname(n) == folder for n in self.names)
        )

    def launching(self, path: str, beside: str) -> bool:
        """Whether what the file `beside` calls `path` is a script with launches."""
        meant = _meant(path, beside)
        return any(each.starts_ranks and each.path in meant for each in self.scripts)

    def launching_beside(self, path: str, beside: str) -> bool:
        """Whether another script with launches lies in the folder that what the file `beside` calls `path` would stand in."""
        folders = {posixpath.dirname(each) for each in _meant(path, beside)}
        return any(
            each.starts_ranks
            and not each.told
            and each.path != beside
            and posixpath.dirname(each.path) in folders
            for each in self.scripts
        )

    def begun_beside(self, name: str, beside: str) -> bool:
        """Whether scripts with launches lie in the folder of the file `beside` that are called as one is, and more: `train_4_gpus.sh`."""
        stem, end = posixpath.splitext(name)
        return any(
            each.starts_ranks
            and not each.told
            and each.path.startswith(
                (f"{_folder_of(beside)}{stem}_", f"{_folder_of(beside)}{stem}-")
            )
            and each.path.endswith(end)
            and posixpath.dirname(each.path) == posixpath.dirname(beside)
            for each in self.scripts
        )

    def called(self, path: str, beside: str) -> str:
        """The file of the project that the one `beside` calls `path`, the nearest; empty where none is."""
        return next((each for each in _meant(path, beside) if each in self.names), "")

    def handing(self, script: Script) -> Iterator[tuple[Script, tuple[Word, ...]]]:
        """The shell scripts that a script or page starts, each with what it is given: `$1`, `$2` and so on."""
        for command in script.commands:
            if (found := script_started(command)) is not None:
                path = self.script_called(found[0].text or "", script.path)
                if path and not RENUMBERED.search(self._shell_scripts[path].text):
                    yield self._shell_scripts[path], found[1]

    def script_meant(self, path: str, beside: str) -> str:
        """The shell script that the file `beside` calls `path`: the nearest file, or the only one further down; empty where that
        is not read.

        CutLER cca0a27 README.md:156: `sbatch tools/train-1node.sh`, behind `cd cutler`.
        """
        called = self.called(path, beside)
        if not called:
            end = posixpath.normpath(path)
            ends = [
                each
                for each in self._by_name.get(posixpath.basename(path), ())
                if f"/{each}".endswith(f"/{end}")
            ]
            called = ends[0] if len(ends) == 1 else ""
        return called if called in self._shell_scripts else ""

    def begins(self, path: str, start: str) -> bool:
        """Whether the shell script at `path` begins with a text."""
        return self._shell_scripts[path].text.startswith(start)

    def script_called(self, path: str, beside: str) -> str:
        """The shell script that the file `beside` calls `path`, the nearest of those that are read; empty where none is."""
        return next((each for each in _meant(path, beside) if each in self._shell_scripts), "")

    def started_in(self, script: Script) -> str | None:
        """The folder from which all scripts and pages start a shell script, by the paths that they call it; None where it is not known.

        EasyCV 901ff18 benchmarks/selfsup/README.md:16: `sh benchmarks/tools/dist_extract.sh`, from the top.
        """
        return self._started_in.get(script.path)

    @cached_property
    def _started_in(self) -> dict[str, str | None]:
        """The shell scripts that others start, each with the folder in which that is."""
        result: dict[str, str | None] = {}
        by_name = _grouped_by_name(self._shell_scripts)
        for script in self.scripts:
            for command in script.commands:
                found = script_started(command)
                if found is None or not found[0].text:
                    continue
                text = posixpath.normpath(found[0].text)
                named = by_name.get(posixpath.basename(text), ())
                same = [path for path in named if f"/{path}".endswith(f"/{text}")]
                for path in same:
                    folder = path.removesuffix(text).rstrip("/")
                    known = len(same) == 1 and result.get(path, folder) == folder
                    result[path] = folder if known else None
        return result

    @cached_property
    def steps(self) -> dict[str, list[tuple[Script, list[str | None]]]]:
        """The scripts in which `srun` starts a shell script by a shell, with what stands between the two, by the name of that."""
        found: dict[str, list[tuple[Script, list[str | None]]]] = {}
        for script in self.scripts:
            for command in script.commands if not script.told else ():
                texts = [word.text for word in command.words]
                shell = next((at for at, text in enumerate(texts) if text in SHELLS), 0)
                name = (
                    texts[shell + 1]
                    if texts[:1] == ["srun"] and 0 < shell < len(texts) - 1
                    else None
                )
                if name is not None and name.endswith(".sh"):
                    row = script, texts[1:shell]
                    found.setdefault(posixpath.basename(name), []).append(row)
        return found

    @cached_property
    def started_behind(self) -> dict[str, set[str]]:
        """The folders of somebody's machine that scripts change to, each with the folders of the project from which they start
        files then: it is a copy of the project.

        BottleneckIterativeNetwork 718e191 sbatch/lrs3_videolatent.sh:12, and sbatch/eval_lrs3wham_rtfs.sh:12 which changes to the
        same one and starts `scripts/eval_lrs3wham_rtfs.py`: there is no such file in `scripts`.
        """
        found: dict[str, set[str]] = {}
        for script in self.scripts:
            homes = {text for word in script.entered() if posixpath.isabs(text := word.text or "")}
            for command in script.commands if homes else ():
                for word in command.words[1:]:
                    text = posixpath.normpath(word.text) if word.text else ""
                    if (
                        "/" in text
                        and text.endswith(".py")
                        and not self.is_absent(text, script.path)
                    ):
                        for home in homes:
                            found.setdefault(home, set()).add(posixpath.dirname(text))
        return found

    @cached_property
    def _shell_scripts(self) -> dict[str, Script]:
        """The scripts that no page tells, by their paths."""
        return {each.path: each for each in self.scripts if not each.told}

    def launches(self, *, told: bool = False) -> Iterator[tuple[Script, Launch]]:
        """Every launch, with the script that it stands in; those that a page tells, too, where `told`."""
        for script in self.scripts:
            if told or not script.told:
                for launch in script.launches:
                    yield script, launch

    def of(self, wanted: Format) -> Iterator[Configuration]:
        """The configurations of one format."""
        return (each for each in self.configurations if each.format is wanted)

    def named(self, path: str, beside: str, wanted: Format) -> Configuration | None:
        """The configuration that the file `beside` calls `path`: seen from its own folder, or one above.

        None where it is another's than of the `wanted` format. A page may tell to go to a folder first: what it calls by
        folder and name, and only one folder below has, is meant (Llama-X 5a82335 README.md:191: `configs/…` is in `src`).
        """
        by_path = {each.path: each for each in self.configurations}
        found = next((by_path[each] for each in _meant(path, beside) if each in by_path), None)
        if found is None and "/" in path and kind_of(beside) is Kind.GUIDE:
            end = posixpath.normpath(path)
            folder = posixpath.dirname(beside)
            below = [
                each
                for name, each in by_path.items()
                if name.endswith(f"/{end}") and (not folder or name.startswith(f"{folder}/"))
            ]
            found = below[0] if len(below) == 1 else None
        return found if found is not None and found.format is wanted else None

    def trained(self) -> Iterator[tuple[Configuration, Configuration]]:
        """The files of arguments of transformers' Trainer, each with the JSON of DeepSpeed that it names."""
        for each in self.of(Format.TRAINER):
            json = self.named(each.values["deepspeed"], each.path, Format.DEEPSPEED)
            if json is not None:
                yield each, json

    def configured(self, script: Script, launch: Launch) -> Configuration | None:
        """The configuration of accelerate that a launch names, where nothing outside of the script has a say."""
        option = launch.options.get("config_file")
        if option is None or option.value is None or not option.sure:
            return None
        return self.named(option.value, script.path, Format.ACCELERATE)

    def json_of(self, accelerate: Configuration) -> Configuration | None:
        """The DeepSpeed JSON that accelerate's configuration names."""
        name = section_of(accelerate.values, "deepspeed_config").get("deepspeed_config_file")
        if not isinstance(name, str):
            return None
        return self.named(name, accelerate.path, Format.DEEPSPEED)

    def starting(self, path: str, known: Set[str] = frozenset()) -> list[tuple[Script, Launch]]:
        """The launches whose script is the Python file `path`, those in Markdown included.

        Where all Python files are `known`, a launch of none of them starts the only one of that name, too; so does a
        bare name in a page, from a folder below. A module (`torchrun -m package.train`) is any file that may have its name.
        """
        return [
            (script, launch)
            for script, launch, text in self._launches_by_name.get(posixpath.basename(path), ())
            if (
                self._is_called(path, text, script, known, own=_is_own(launch))
                if launch.module is None
                else f"/{path}".endswith(f"/{text}")
            )
        ]

    def starting_elsewhere(self, path: str) -> Iterator[tuple[Script, Launch]]:
        """The launches by a path on another machine, of which the Python file `path` alone has the end: folder and name; or by
        one that is nowhere, where no other file has the name.

        SkyThought 0d190f1 skythought/train/LLaMA-Factory/single_node.sh:9: `/lustre/…/LLaMA-Factory/src/train.py`.
        SmartEdit a65f126 scripts/TrainStage1_13b.sh:7: `fastchat/train/TrainStage1.py`, which is train/TrainStage1.py.
        """
        name = posixpath.basename(path)
        for script, launch, text in self._launches_by_name.get(name, ()):
            if launch.module is not None:
                continue
            if not posixpath.isabs(text):
                alone = self.with_the_end_of(text) == path or self.moved(text, script.path) == path
                if alone and self.is_absent(text, script.path):
                    yield script, launch
            else:
                same = {each: _common_end(each, text) for each in self.names if each.endswith(name)}
                longest = max(same.values(), default=0)
                best = [each for each, parts in same.items() if parts == longest]
                if longest > 1 and best == [path]:
                    yield script, launch

    @cached_property
    def _launches_by_name(self) -> dict[str, list[tuple[Script, Launch, str]]]:
        """The launches of Python files, with what each calls the file, by its name."""
        found: dict[str, list[tuple[Script, Launch, str]]] = {}
        for script, launch in (*self.launches(told=True), *self._handed_on()):
            if text := launch.file:
                found.setdefault(posixpath.basename(text), []).append((script, launch, text))
        return found

    def _handed_on(self) -> Iterator[tuple[Script, Launch]]:
        """The launches of a program that the script is given by another one or a page, each with what gives it.

        `bash tools/dist.sh train.py 8`, and in it `torchrun --nproc_per_node $2 $1`.
        """
        for script in self.scripts:
            for called, given in self.handing(script):
                for launch in called.launches:
                    number = launch.script.given if launch.script is not None else 0
                    if 0 < number <= len(given):
                        yield script, replace(launch, script=given[number - 1])

    def _is_called(
        self, path: str, text: str, script: Script, known: Set[str], *, own: bool
    ) -> bool:
        """Whether what a script calls `text` is the Python file `path`, which has that name.

        What begins at the script's `own` folder is nowhere else (OctreeOcc 54afdd6 tools/fp16/dist_train.sh).
        """
        name = posixpath.basename(path)
        meant = _meant(text, script.path)[: 1 if own else None]
        return (
            path in meant
            or (
                known.isdisjoint(meant)
                and sum(each.rpartition("/")[2] == name for each in known) == 1
            )
            or (script.told and "/" not in text and self._is_alone_below(script.path, path))
        )

    def surely_starting(self, path: str) -> Iterator[tuple[Script, Launch]]:
        """The launches that mean the Python file `path` and no other one of the project."""
        for script, launch, text in self._launches_by_name.get(posixpath.basename(path), ()):
            if self._means(text, script, path):
                yield script, launch

    def is_surely(self, called: str, script: Script, path: str, *, below: bool) -> bool:
        """Whether what a script calls a Python file is the one at `path`, and no other one of the project.

        Args:
            below: whether it may lie below any folder, as a module that is run by its name.
        """
        if below:
            found = [
                n
                for n in self._by_name.get(posixpath.basename(called), ())
                if f"/{n}".endswith(f"/{called}")
            ]
            return found == [path]
        return posixpath.basename(called) == posixpath.basename(path) and self._means(
            called, script, path
        )

    def tasks_of(self, path: str) -> Iterator[Place]:
        """Where `srun` starts the Python file `path`, as one of several tasks by its options or the scheduler's.

        A shell that it runs is given the variables that are exported: Fengshenbang-LM c8fb7b8
        fengshen/examples/wenzhong_qa/finetune_GPT2_medicalQA.sh:123, `bash -c 'python $CMD'`.
        """
        for script, command, text in self._tasks_by_name.get(posixpath.basename(path), ()):
            if self._means(text, script, path):
                yield command.words[0].place

    def _means(self, text: str, script: Script, path: str) -> bool:
        """Whether what a script calls `text` is the Python file `path`: the nearest that is there, or the only one of the name.

        Of a path on another machine the name alone is left; of one below another folder the end has to fit, and a bare name
        is that of a file below: Adan 2c65bea CV/timm/supervised.md:14 has people fetch the `train.py` that it starts.
        """
        there = next((each for each in _meant(text, script.path) if each in self.names), None)
        if there is not None:
            return there == path
        end = posixpath.normpath(text).removeprefix("../")
        return (
            path in self.names
            and posixpath.basename(path) not in self.names_of_several
            and (
                posixpath.isabs(text)
                or ("/" in end and f"/{path}".endswith(f"/{end}"))
                or ("/" not in end and path.startswith(_folder_of(script.path)))
            )
        )

    @cached_property
    def _tasks_by_name(self) -> dict[str, list[tuple[Script, Command, str]]]:
        """The Python files that `srun` starts as several tasks, with what each is called, by their names."""
        found: dict[str, list[tuple[Script, Command, str]]] = {}
        for script in self.scripts:
            for command in script.commands:
                if has_tasks(command, script.scheduler):
                    for text in texts_of(command):
                        if text.endswith(".py"):
                            row = (script, command, text)
                            found.setdefault(posixpath.basename(text), []).append(row)
        return found

    def spawned_by_tasks(self) -> Iterator[tuple[int, str, Place]]:
        """The steps of `srun` that start a Python file several times on one machine, which starts a process for each GPU there:
        how many times, its name, and where that is said.

        medsam_breastmri 7e6c9d4 medsam_ddp_gpu.sh:3: `--ntasks=2`, and `srun python …/main_ddp.py`, which has
        `mp.spawn(main_worker, nprocs=torch.cuda.device_count())`.
        """
        for path in sorted(self.spawning):
            for script, command, text in self._tasks_by_name.get(posixpath.basename(path), ()):
                tasks = tasks_of_a_machine(command, script.scheduler)
                if (
                    tasks is not None
                    and tasks[0] > 1
                    and "CUDA_VISIBLE_DEVICES" not in script.text
                    and self._means(text, script, path)
                ):
                    place = script.scheduler.get(tasks[1], command.words[0]).place
                    yield tasks[0], posixpath.basename(path), place

    def _is_alone_below(self, page: str, path: str) -> bool:
        """Whether a Python file lies below the folder of a page, and no other file of the project has its name.

        DL-Art-School f31a333 README.md:84 starts `train.py`, which is codes/train.py.
        """
        folder = posixpath.dirname(page)
        return (
            path in self.names
            and (not folder or path.startswith(f"{folder}/"))
            and posixpath.basename(path) not in self.names_of_several
        )

    def alone(self, path: str, *, told: bool = False) -> list[tuple[Script, Plain]]:
        """The commands of scripts that start the Python file `path` as one process, without a launcher.

        Those that a page tells, too, where `told`: of the file below that has the name.
        """
        return [
            (script, found)
            for script in self.scripts
            if told or not script.told
            for command in script.commands
            if (found := plain(command)) is not None
            and (
                path in _meant(text := found.script.text or "", script.path)
                or (
                    script.told
                    and posixpath.basename(text) == posixpath.basename(path)
                    and self._means(text, script, path)
                )
            )
        ]

    def is_for_one_gpu(self, path: str) -> bool:
        """Whether a page in the folder of the Python file `path`, or above, says that it works on a single GPU alone.

        One that tells a launch all the same speaks of something else.
        """
        return any(
            script.told
            and not script.launches
            and f"{posixpath.dirname(path)}/".startswith(_folder_of(script.path))
            and is_for_one_gpu(script.text.encode())
            for script in self.scripts
        )

    def under_slurm(self, path: str) -> bool:
        """Whether a script starts each rank of the Python file `path` by `srun`, which leaves the others when one fails.

        Slurm ends them all with `--kill-on-bad-exit` (`-K`).
        """
        return any(
            path in _meant(word.text, script.path)
            for script in self.scripts
            for command in script.commands
            if ranks_apart(command)
            for word in command.words
            if word.text and word.text.endswith(".py")
        )

    def asks_for(self, name: str, oldest: tuple[int, ...], path: str) -> bool:
        """Whether the requirements in the folder of `path`, or above, want a package of this version or later."""
        found = [each.oldest for each in near(self.requirements, name, path)]
        return bool(found) and all(each >= oldest for each in found)

    def older_than(
        self, name: str, version: tuple[int, ...], path: str, environment: str = ""
    ) -> bool:
        """Whether all that is said of a package, beside `path` or above, lets in older versions alone; else conda's lists.

        Where the `environment` of conda is known in which the code runs, what its list says, or else its name.

        imaginaire c6f7480 scripts/requirements_conda.yaml: `pytorch=1.9`. A file that takes any version says nothing:
        LoRA c4593f0 examples/NLU/environment.yml pins accelerate, which its examples' requirements only name. Nor does
        one that takes any newer one: UniTR 81c323e requires `torch>=1.1`, and its README.md installs 1.10.1.
        """
        pins = [each for each in self.requirements if each.newest]
        listed = [each for each in pins if each.name == name and environment in each.environments]
        if listed:
            return all(each.newest < version for each in listed)
        if name == "torch" and (named := torch_of(environment)):
            return named < version
        found = near(pins, name, path) or [
            each for each in pins if each.name == name and _is_of_conda(each.path)
        ]
        found = [each for each in found if not each.implied] or found
        wanted = near(self.requirements, name, path)
        return (
            bool(found)
            and all(each.newest < version for each in found)
            and not any(each.oldest >= version for each in wanted)
        )

    def pinned_before(self, name: str, version: tuple[int, ...], path: str) -> bool:
        """Whether what pip installs for the folder of `path`, or the closest above of which that is said, pins a package below a version.

        Not what a page tells of, or the environment of conda in which the authors worked: newer ones may do as well. CodeRL
        ec3c526 has torch 1.9.1 in its requirements, and in a folder of its own a copy of transformers, which has others.
        """
        installed = (each for each in self.requirements if kind_of(each.path) in _INSTALLED)
        return self.older_than(name, version, path) and any(
            each.name == name and each.newest and not each.implied
            for each in closest(installed, path)
        )

    def told_before(self, name: str, version: tuple[int, ...], path: str) -> bool:
        """Whether a page, a Dockerfile or an environment of conda in the folder of `path`, or above, asks for a package below a
        version, and nothing beside it lets in a newer one. What follows from another package, or was tried, does not ask for it.

        TorchSemiSeg 5e0c29c semiseg.yaml:297: `torch==1.0.0`; TCVOM f5fa07a README.md:88: `Pytorch=1.6.0`.
        """
        return self.older_than(name, version, path) and any(
            each.newest and not each.implied and kind_of(each.path) not in _INSTALLED
            for each in near(self.requirements, name, path)
        )

    @property
    def on_one_machine(self) -> bool:
        """Whether the configurations that say where the processes meet all name this machine."""
        return bool(self.meeting_here) and all(self.meeting_here)

    def on_several(self, path: str) -> bool:
        """Whether the Python file `path` is surely started on several processes.

        By a launch that names it, with a number above 1 or, as `deepspeed` does, all GPUs; or by the only
        configurations of accelerate there are, where no launch names it.
        """
        found = self.starting(path)
        if found:
            return any(self._of_several(script, launch) for script, launch in found)
        configured = list(self.of(Format.ACCELERATE))
        return bool(configured) and all(_counts_several(each) for each in configured)

    def shown(self, path: str) -> list[tuple[Script, Launch]]:
        """The launches of the Python file `path` by scripts and pages, which say where it is started.

        temporal-vggt-interpolation 7206f82 src/train_ddp.py:4 tells at its head of one machine for an example.
        """
        return [each for each in self.starting(path) if not each[0].is_head]

    def on_one_machine_alone(self, path: str) -> bool:
        """Whether launches of the Python file `path` are shown, and each is of one machine.

        That is what launchers take where nobody tells them of others; what is not seen of a launch may tell them.
        """
        found = self.shown(path)
        return (
            bool(found)
            and all(self._takes_this_machine(script, launch) for script, launch in found)
            and not self.under_slurm(path)
        )

    def _takes_this_machine(self, script: Script, launch: Launch) -> bool:
        if not launch.options_known or not _HOSTS.isdisjoint(launch.options):
            return False
        if launch.row.machines in launch.options:
            number = launch.number(launch.row.machines)
            return number is not None and number[0] == 1
        if launch.launcher is not Launcher.ACCELERATE:
            return True
        configuration = self.configured(script, launch)  # else that of whoever starts it
        return configuration is not None and configuration.values.get("num_machines", 1) == 1

    def in_engine(self, paths: Iterable[str], known: Set[str], folder: str) -> bool:
        """Whether what leads to code is started, each time in FSDP or DeepSpeed.

        VILA 6c75a7f llava/train/llava_trainer.py:932: all scripts pass `--deepspeed` to train_mem.py beside it.

        Args:
            paths: the Python files that lead to the code.
            known: all Python files of which is known what they lead to.
            folder: that of the code. Where no launch names one of `paths`, other files in it count.
        """
        found = [start for path in paths for start in self.starting(path)] or [
            (script, launch)
            for script, launch in self.launches(told=True)
            if launch.script is not None
            and (text := launch.script.text or "").endswith(".py")
            and known.isdisjoint(meant := _meant(text, script.path))
            and folder in map(posixpath.dirname, meant)
        ]
        return bool(found) and all(
            self._asks_for_engine(script, launch) for script, launch in found
        )

    @property
    def configured_in_engines(self) -> bool:
        """Whether all of accelerate's configurations that there are ask for FSDP or DeepSpeed."""
        return all(
            each.values.get("distributed_type") in _ENGINE_TYPES
            for each in self.of(Format.ACCELERATE)
        )

    def _asks_for_engine(self, script: Script, launch: Launch) -> bool:
        if launch.launcher is Launcher.DEEPSPEED or not _ENGINES.isdisjoint(
            (*launch.options, *launch.arguments)
        ):
            return True
        option = launch.options.get("config_file")
        if option is None or option.value is None:
            return False
        configuration = self.named(option.value, script.path, Format.ACCELERATE)
        return (
            configuration is not None
            and configuration.values.get("distributed_type") in _ENGINE_TYPES
        )

    def _of_several(self, script: Script, launch: Launch) -> bool:
        number = launch.number(*launch.row.processes)
        if number is not None:
            return number[0] > 1
        if "multi_gpu" in launch.options or launch.launcher is Launcher.DEEPSPEED:
            return True
        option = launch.options.get("config_file")
        if option is None or option.value is None or not option.sure:
            return not launch.complete
        configuration = self.named(option.value, script.path, Format.ACCELERATE)
        return configuration is not None and _counts_several(configuration)


def _grouped_by_name(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by the last part of each."""
    found: dict[str, list[str]] = {}
    for each in paths:
        found.setdefault(posixpath.basename(each), []).append(each)
    return found


def _common_end(path: str, other: str) -> int:
    """How many parts two paths have in common, from the name of the file up."""
    pairs = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _folder_of(path: str) -> str:
    """What the paths of all files of the folder of `path` begin with."""
    folder = posixpath.dirname(path)
    return f"{folder}/" if folder else ""


def _counts_several(configuration: Configuration) -> bool:
    """Whether accelerate's configuration starts several processes."""
    number = configuration.values.get("num_processes")
    return isinstance(number, int) and number > 1


def _is_own(launch: Launch) -> bool:
    """Whether the path of the program begins at the folder of the script."""
    return launch.script is not None and launch.script.own


def _meant(path: str, beside: str) -> list[str]:
    """What `path` may be in a script at `beside`, which people start in its folder or in one above."""
    return [posixpath.normpath(posixpath.join(each, path)) for each in _folders_around(beside)]


def _folders_around(path: str) -> list[str]:
    """The folder of a file, and those above it."""
    folder = path.rpartition("/")[0]
    found = [folder]
    while folder and folder != ".." and not folder.endswith("/.."):
        folder = folder.rpartition("/")[0]
        found.append(folder)
    return found


def read_files(
    files: Iterable[TextFile],
    names: Set[str] = frozenset(),
    any_rank: Set[str] = frozenset(),
    clips: Set[str] = frozenset(),
    names_of_several: Set[str] = frozenset(),
) -> LaunchFiles:
    """What `files` say. One that cannot be read leaves a note: a template is no mistake.

    `names` are those of all files of the project that are known, `any_rank` those of the Python files that go on with
    torch's old launcher of any version, `clips` of those that may tell DeepSpeed how much to clip, and `names_of_several` the
    names that Python files in several folders have.
    """
    result = LaunchFiles(
        names=names, any_rank=any_rank, clips=clips, names_of_several=names_of_several
    )
    files = list(files)
    for file in files:
        result.requirements += required(file.kind, file.path, file.text)
    for file in files:
        if file.kind is Kind.YAML and is_composed(file.text.encode()):
            result.composed[file.path] = file.text
        if file.kind is Kind.YAML and tells_devices(file.text.encode()):
            result.trainers[file.path] = file.text
        if (here := meets_here(file.kind, file.text)) is not None:
            result.meeting_here.append(here)
        match file.kind:
            case Kind.YAML | Kind.JSON:
                _read_configuration(file, result)
                if names_classes(file.text.encode()):
                    result.naming.append(file)
                if file.kind is Kind.YAML and is_manifest(file.text.encode()):
                    for pod in pods_of(file.path, file.text):
                        _read_script(file, pod.commands, result, pod.given)
            case Kind.SHELL:
                _read_script(file, commands_of(file.path, file.text), result)
                for made in written_by(file.path, file.text):
                    kind = kind_of(made.path)
                    if kind is not None and made.path not in names:
                        written = TextFile(made.path, kind, made.text)
                        _read_configuration(written, result, inside=file.path)
            case Kind.DOCKERFILE:
                _read_script(file, commands_of(file.path, _shell_of_dockerfile(file.text)), result)
            case Kind.MAKEFILE:
                for commands in _of_makefile(file.path, file.text):
                    _read_script(file, commands, result)
            case Kind.GUIDE:
                _read_script(file, _of_markdown(file.path, file.text), result)
            case Kind.HEAD:
                told = _of_markdown(file.path, file.text)
                _read_script(file, [each for each in told if _starts(each, file.path)], result)
    return result


def _starts(command: Command, path: str) -> bool:
    """Whether a command launches a Python file, by its name: another one may be of the project that this was copied from.

    llm-logic 1195386 train_manba.py:9: `torchrun --standalone --nproc_per_node=4 train.py`.
    """
    name = posixpath.basename(path)
    return any(posixpath.basename(each.file) == name for each in launches([command]))


def _is_of_conda(path: str) -> bool:
    return kind_of(path) is Kind.YAML


def _read_configuration(file: TextFile, result: LaunchFiles, inside: str = "") -> None:
    """Add a configuration; `inside` a script that writes it, what cannot be read is the script's own."""
    read = read_yaml if file.kind is Kind.YAML else read_json
    said = says_launch(file.kind, file.text.encode())
    if _PLACEHOLDER.search(file.text) or not (said or of_trainer(file.text.encode())):
        return
    try:
        values, spans = read(file.text)
    except Unreadable as failure:
        if not said or inside:
            return
        line = file.text.count("\n", 0, failure.offset) + 1
        result.notes.append(f"{file.path}:{line}: not read as {file.kind.value}: {failure.reason}")
        return
    form = _format(file.kind, values)
    if form is not None:
        result.configurations.append(
            Configuration(file.path, form, values, file.text, spans, inside)
        )


def _format(kind: Kind, values: Any) -> Format | None:
    if not isinstance(values, dict):
        return None
    if "compute_environment" in values or (
        "distributed_type" in values and ("num_processes" in values or "num_machines" in values)
    ):
        sagemaker = values.get("compute_environment") == "AMAZON_SAGEMAKER"
        return None if sagemaker else Format.ACCELERATE
    if kind is Kind.JSON and is_deepspeed(values):
        return Format.DEEPSPEED
    of_trainer = "per_device_train_batch_size" in values and isinstance(
        values.get("deepspeed"), str
    )
    return Format.TRAINER if of_trainer else None


def is_deepspeed(values: Mapping[str, Any]) -> bool:
    """Whether a mapping is DeepSpeed's configuration, by its keys."""
    known = sum(key in TOP_LEVEL for key in values)
    named = "zero_optimization" in values or "train_micro_batch_size_per_gpu" in values
    return named and known >= max(2, (len(values) + 1) // 2)


def _read_script(
    file: TextFile,
    commands: list[Command],
    result: LaunchFiles,
    given: dict[str, Word] | None = None,
) -> None:
    """Add a script; what it is `given`, where a manifest says it."""
    found = list(commands)
    for command in commands:
        found += _inner(file.path, command)
    lines = Lines(file.path, file.text)
    scheduler = {
        match[1].lstrip("-").replace("-", "_"): Word(match[2], lines.place(*match.span()))
        for match in SBATCH.finditer(file.text if given is None else "")
    }
    environments = {name for each in result.requirements for name in each.environments}
    started = tuple(launches(found, environments))
    told = file.kind in (Kind.GUIDE, Kind.HEAD)
    gives = "Slurm" if given is None else "Kubernetes"
    scheduler |= given or {}
    script = Script(
        file.path, tuple(found), started, scheduler, file.text, told, file.reported, gives
    )
    result.scripts.append(script)


def _inner(path: str, command: Command) -> Iterator[Command]:
    """The commands inside a word (`bash -c "torchrun train.py"`), each at the place of that word.

    What is not known in it is a variable there: COAT 80ec99f examples/OLMo/scripts/beaker/mitch-ish-7b.sh:30.
    """
    if not command.words or command.words[0].text in ("echo", "printf"):
        return
    for word in command.words[1:]:
        text = word.text if word.text is not None else _UNKNOWN.join(word.around)
        if " " not in text or not re.search(r"torchrun|accelerate|deepspeed|-m torch", text):
            continue
        for inner in commands_of(path, text):
            words = tuple(
                replace(each, place=word.place, sure=each.sure and word.sure)
                for each in inner.words
            )
            yield Command(words, {**command.environment, **inner.environment}, command.line)


def _shell_of_dockerfile(text: str) -> str:
    """The commands of RUN, CMD and ENTRYPOINT at their places, with blanks for all the rest."""
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        found = None if inside else _INSTRUCTION.match(line)
        if not inside and found is None:
            kept.append("")
            continue
        body = line if found is None else " " * found.end() + line[found.end() :]
        if body.lstrip().startswith("["):  # ["torchrun", "train.py"]
            body = re.sub(r'"\s*,', '" ', body.replace("[", " ").replace("]", " "))
        kept.append(body)
        inside = line.rstrip().endswith("\\")
    return "\n".join(kept)


def _of_makefile(path: str, text: str) -> Iterator[list[Command]]:
    """The commands of each shell of a Makefile: one for each line of a recipe, with those that its backslashes join.

    GNU make 4.4 manual, 5.3: what a line changes to, or sets, is lost in the next one, but behind `.ONESHELL:`.
    """
    shells: list[tuple[int, list[str]]] = []
    one = _ONE_SHELL.search(text) is not None
    inside = joined = False
    for number, line in enumerate(text.split("\n"), 1):
        recipe = joined or line.startswith("\t")
        if recipe:
            body = line if joined else _SILENT.sub(lambda found: " " * len(found[0]), line)
            if joined or (one and inside):
                shells[-1][1].append(body)
            else:
                shells.append((number, [body]))
        inside, joined = recipe, recipe and line.endswith("\\")
    for first, lines in shells:
        written, doubled = _shell_of_recipe("\n".join(lines))
        yield [_moved(each, first, doubled) for each in commands_of(path, written, first)]


def _shell_of_recipe(text: str) -> tuple[str, dict[int, list[int]]]:
    """What a shell gets of a recipe, where make's own variables and functions are variables of the same width, and the columns
    (bytes) of the dollars that make takes away, by their lines from 0."""
    kept: list[str] = []
    doubled: dict[int, list[int]] = {}
    at = 0
    while at < len(text):
        if text.startswith("$$", at):
            before = "".join(kept)
            column = len(before[before.rfind("\n") + 1 :].encode())
            doubled.setdefault(before.count("\n"), []).append(column)
            kept.append("$")
            at += 2
        elif text.startswith("$(", at):
            end = _end_of_brackets(text, at + 1)
            kept.append(_unknown_of_make(text[at:end]))
            at = end
        else:
            kept.append(text[at])
            at += 1
    return "".join(kept), doubled


def _end_of_brackets(text: str, at: int) -> int:
    """Where the round brackets that open at a place are closed again; the end of the text where they are not."""
    depth = 0
    for end in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return end + 1
    return len(text)


def _unknown_of_make(written: str) -> str:
    """A variable of the same width for one of make's, or for a function (`$(if $(DEBUG),-m pdb)`), and the same lines."""
    name = written[2:-1]
    if re.fullmatch(r"\w+", name):
        return f"${{{name}}}"
    first, *more = written.split("\n")
    width = len(first.removesuffix("\\").encode())
    made = f"${{{'_' * (width - 3)}}}" if width > 3 else "$" + "_" * (width - 1)
    lines = [made + "\\" * first.endswith("\\")]
    for line in more:
        own = line.removesuffix("\\")
        lines.append(" " * len(own.encode()) + "\\" * line.endswith("\\"))
    return "\n".join(lines)


def _moved(command: Command, first: int, doubled: Mapping[int, list[int]]) -> Command:
    """A command with its words where they are written, before make takes the second of two dollars away."""

    def column(line: int, at: int) -> int:
        return at + sum(each < at for each in doubled.get(line - first, ()))

    def moved(word: Word) -> Word:
        at = word.place
        place = replace(
            at, column=column(at.line, at.column), end_column=column(at.end_line, at.end_column)
        )
        return replace(word, place=place)

    words = tuple(map(moved, command.words))
    environment = {name: moved(word) for name, word in command.environment.items()}
    return replace(command, words=words, environment=environment)


def _as_variable(found: re.Match[str]) -> str:
    """A variable of the same length, whose value nobody knows.

    InternImage 31c962d classification/README.md:247: `--nproc_per_node <num-of-gpus-to-use> main.py`.
    """
    return "$" + re.sub(r"[^A-Za-z0-9]", "_", found[0][1:])


def _of_markdown(path: str, text: str) -> list[Command]:
    """The commands of fenced blocks and launches. A block of another language is read apart: it ends no other.

    RepVGG eae7c52 README.md:59: a loop of Python, and the launches of the page below.
    """
    lines, blocks = _shell_of_markdown(text)
    apart: list[Command] = []
    for start, end in blocks:
        block = "\n".join(lines[start:end])
        if not is_shell(block):
            apart += commands_of(path, block, start + 1)
            lines[start:end] = [""] * (end - start)
    return [*commands_of(path, "\n".join(lines)), *apart]


def _shell_of_markdown(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The lines of fenced blocks and launches at their places, without prompts, and with blanks for all the rest.

    And where each block begins and ends.
    """
    kept: list[str] = []
    blocks: list[tuple[int, int]] = []
    started = 0
    inside = continued = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            if inside:
                blocks.append((started, len(kept)))
            inside, continued, started = not inside, False, len(kept) + 1
            kept.append("")
            continue
        written = _TO_FILL_IN.sub(_as_variable, _PROMPT.sub(r"\1  ", line))
        written = _SPACE_BEHIND.sub(r"\\", written)
        if not inside:
            # Quoted, a continued line ends in three backslashes: one that is escaped, and a line break
            # (EDVR b02e63a docs/TrainTest.md:38).
            written = _ENDS_QUOTED.sub(lambda end: " " * (len(end[0]) - 1) + "\\", written)
            if (inline := _INLINE.match(written)) is not None:
                written = " " * inline.start("code") + inline["code"]
            if not (continued or _TOLD.match(written)):
                written = ""
            continued = written.endswith("\\")
        kept.append(written)
    return kept, blocks
