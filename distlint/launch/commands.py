"""The launches among the commands of a script: launcher, options, script, and what the script is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import takewhile

from distlint.findings import Place
from distlint.knowledge.configuration.launchers import EXCLUSIVE, LAUNCHERS, Launcher, Row
from distlint.launch.environments import activated
from distlint.launch.shell import Command, Word
from distlint.launch.spelling import nearest
from distlint.patterns import pattern
from distlint.records import dataclass

_FOLDER = pattern(r"(?:[\w-]+/)*[A-Za-z_]\w*/?")
"""What may be the path of a package."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command line: its name with `_` for `-`, its value (None for a flag), and where; and as it is written."""

    name: str
    value: str | None
    place: Place
    sure: bool
    written: str = ""
    bare: bool = False
    """Whether another option stands behind it, or nothing: no value at all."""
    word: Word | None = None
    """The value as it is written, where that is a word of its own."""
    behind: Word | None = None
    """The word behind it and its value, where that is no option."""

    @property
    def lost(self) -> Word | None:
        """The word behind it and its value that a program without arguments of its own refuses.

        Not the rest of a value that a variable holds: Emu3 f6ea9aa scripts/t2i_sft.sh:10, `DATAPATH="your data path (json file)"`.
        """
        behind = self.behind
        held = self.word is not None and behind is not None and self.word.place == behind.place
        return behind if behind is not None and behind.sure and not held else None


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that starts the processes of a job.

    Attributes:
        row: the launcher's row of the table.
        place: the words that name it.
        options: its own, by name.
        script: the program that each process runs; None where it is not known.
        arguments: the options that the script is given.
        environment: the variables it is started with.
        complete: whether every word is known: else there may be options that nobody sees.
    """

    row: Row
    place: Place
    options: dict[str, Option]
    script: Word | None
    arguments: dict[str, Option]
    environment: dict[str, Word]
    complete: bool
    module: Word | None = None
    """The module that is run in the place of a script: `torchrun -m package.train`."""
    positional: tuple[Word, ...] = ()
    """What the script is given in front of the first option."""
    before: tuple[Word, ...] = ()
    """The words before the launcher: `srun --ntasks-per-node 8`."""
    background: bool = False
    repeated: bool = False
    options_known: bool = True
    """Whether every word in front of the script is known: all options of the launcher are seen."""
    conda: str = ""
    """The environment of conda that is activated where it stands; empty where nobody says."""
    sought: frozenset[str] = frozenset()
    """The programs for which tests of the script around it look."""
    tested: frozenset[str] = frozenset()
    """The variables that tests of the script around it ask for."""

    def number(self, *names: str) -> tuple[int, Option] | None:
        """The whole number that one of the options `names` gives, where it is sure."""
        for name in names:
            option = self.options.get(name)
            if option is not None and option.sure and option.value and option.value.isdecimal():
                return int(option.value), option
        return None

    def refused(self) -> Iterator[tuple[Option, str]]:
        """The options in front of the program that the launcher does not have, each with the one that is meant.

        lolcats 375df84 demos/llm_mmlu_eval/demo_70b.sh:4: `torchrun --nnodes 1 --nproc_per_nodes 8`. Behind a word that is
        not known, options may be the program's: EasyNLP a4ee956 examples/kbert/run_cls.sh:18, `$basepath/kbert_cls.py --mode`.
        """
        for option in self.options.values() if self.options_known else ():
            if option.sure and (meant := _meant(self.row, option)) is not None:
                yield option, meant

    @property
    def foreign(self) -> bool:
        """Whether an option with a value is none of the launcher's, nor resembles one: it is meant for a program.

        videollm-online e2c78ec scripts/ego4d/live1.sh:1: `deepspeed --deepspeed configs/deepspeed/zero2.json --live_version …`.
        """
        known = self.row.flags | self.row.others | set(self.row.processes)
        return self.options_known and any(
            option.sure
            and option.value is not None
            and option.written.startswith("--")
            and not any(each.startswith(option.name) for each in known)
            and nearest(option.name, known, _NEAR) is None
            for option in self.options.values()
        )

    def contradicting(self) -> tuple[Option, Option] | None:
        """Two options in front of the program that the launcher does not take together.

        Llama2-Chinese e789431 train/sft/finetune.sh:7: `deepspeed --include localhost:1,0 --num_gpus 2`.
        """
        given = [o for o in self.options.values() if o.sure and o.value not in _LEFT_OUT]
        for at, option in enumerate(given if self.options_known else ()):
            for before in given[:at]:
                if {before.name, option.name} in EXCLUSIVE.get(self.launcher, ()):
                    return before, option
        return None

    @property
    def file(self) -> str:
        """The Python file that each process runs, as the launch calls it; empty where it names none.

        Of a folder Python runs the `__main__.py`: robust-llm-2024 0062a38 README.md:170, `accelerate launch … robust_llm`.
        """
        if self.module is not None and self.module.text:
            return f"{self.module.text.replace('.', '/')}.py"
        text = (self.script.text if self.script is not None else None) or ""
        if _FOLDER.fullmatch(text):
            return f"{text.rstrip('/')}/__main__.py"
        return text if text.endswith(".py") else ""

    @property
    def launcher(self) -> Launcher:
        """Which launcher it is."""
        return self.row.launcher


def _meant(row: Row, option: Option) -> str | None:
    """The option that is meant by one that a launcher does not have; None where it may have it, or none resembles it.

    A beginning of a name stands for it. With one hyphen in front, a name is read letter by letter.
    """
    known = row.flags | row.others
    if option.name in known:
        apart = not option.written.startswith("--") and len(option.name) > 1
        spelled = "-" in option.written[2:] and not row.hyphens
        return f"--{option.name}" if (apart and option.name[0] not in known) or spelled else None
    if not option.written.startswith("--") or any(each.startswith(option.name) for each in known):
        return None
    near = nearest(option.name, known, _NEAR)
    return f"--{near}" if near is not None else None


_NEAR = 0.8
_LEFT_OUT = ("", "-1")
"""Values that say what the launcher takes without the option."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A command that starts one process of a Python file, without a launcher: `python train.py --lr 1`."""

    place: Place
    script: Word
    arguments: dict[str, Option]
    complete: bool
    command: Command


def plain(command: Command) -> Plain | None:
    """What a command starts where its first word is Python itself, and no launcher's module follows."""
    words = command.words
    if not words or not re.fullmatch(r"(?:.*/)?python[\d.]*", words[0].text or ""):
        return None
    at = 1
    while at < len(words) and words[at].text in OF_PYTHON:
        at += 1
    if at == len(words) or not (words[at].text or "").endswith(".py"):
        return None
    arguments, complete = _arguments(words, at + 1)
    return Plain(_from(words[0].place, words[at].place), words[at], arguments, complete, command)


OF_PYTHON = frozenset({"-u", "-O", "-B", "-s", "-E", "-I"})


def launches(commands: Iterable[Command], environments: Set[str] = frozenset()) -> Iterator[Launch]:
    """The launches among `commands`, whatever stands before them (srun, nohup, timeout, env).

    `environments` are the names that environments of conda are known to have.
    """
    commands = list(commands)
    for command, conda in zip(commands, activated(commands, environments), strict=True):
        if command.words and command.words[0].text in _SHOW:
            continue
        for index in range(len(command.words)):
            row, length = _launcher_at(command.words, index)
            if row is not None:
                launch = _launch(command, index, row, length)
                yield replace(launch, conda=conda, tested=command.tested, sought=command.sought)
                break


SHELLS = ("bash", "sh")


def script_started(command: Command) -> tuple[Word, tuple[Word, ...]] | None:
    """The shell script that a command starts, and what it is given."""
    words = command.words
    at = 1 if words and words[0].text in SHELLS else 0
    if at < len(words) and words[at].sure and (words[at].text or "").endswith(".sh"):
        return words[at], words[at + 1 :]
    return None


def program_of_slurm(command: Command) -> Word | None:
    """The shell script that `sbatch` or `srun` starts itself: the first word that may be a program."""
    words = command.words
    if not words or words[0].text not in ("sbatch", "srun"):
        return None
    for word in words[1:]:
        text = word.text or word.option
        if text.startswith("--wrap") or _OTHER_PROGRAM.fullmatch(text):
            return None
        if text.endswith((".sh", ".slurm", ".sbatch")) and not text.startswith("-"):
            return word
    return None


_OTHER_PROGRAM = pattern(r"|(?:.*/)?(?:bash|sh|env|python[\d.]*|singularity|apptainer)|.*\.py")
"""What may start the script in its turn, or be in its place: a word that is not known, too."""
_STARTS_RANKS = frozenset({"mpirun", "mpiexec", "horovodrun", "srun"})


def starts_ranks(command: Command) -> bool:
    """Whether a command starts several processes by another launcher than torch's."""
    words = command.words
    return bool(words) and (words[0].text or "").rpartition("/")[2] in _STARTS_RANKS


_ENDS_ALL = ("--kill-on-bad-exit", "--kill-on-bad-exit=1", "-K", "-K1")


def ranks_apart(command: Command) -> bool:
    """Whether `srun` starts the processes of a command itself, and goes on with the others when one fails."""
    words = [word.text or "" for word in command.words]
    return (
        "srun" in words
        and not any(word in _ENDS_ALL for word in words)
        and not any(launches([command]))
    )


_IN_ALL = ("n", "ntasks")
"""Options of srun and sbatch that say how many tasks there are."""
_DIVIDES = ("gpus_per_task", "gpu_bind", "tres_per_task", "tres_bind")
"""Those that give each task GPUs of its own."""
_EACH = ("ntasks_per_node", "N", "nodes")
"""Those that make several of a number above 1, where that is not said."""


def has_tasks(command: Command, scheduler: Mapping[str, Word]) -> bool:
    """Whether `srun` starts a command as several tasks, by its own options or those of the job, and a launcher does not."""
    return counts_several(command, scheduler) and not any(launches([command]))


def counts_several(command: Command, scheduler: Mapping[str, Word]) -> bool:
    """Whether `srun` starts a command as several tasks, by its own options or those of the job."""
    given = _of_step(command, scheduler)
    return any(_is_above_one(given.get(name)) for name in _IN_ALL) or (
        given.keys().isdisjoint(_IN_ALL) and any(_is_above_one(given.get(name)) for name in _EACH)
    )


def tasks_of_a_machine(command: Command, scheduler: Mapping[str, Word]) -> tuple[int, str] | None:
    """How many tasks `srun` starts on the only machine of a job, and the option that says so; None where that is not known."""
    given = _of_step(command, scheduler)
    if any(name in given for name in _DIVIDES):
        return None
    machines = given.get("nodes", given.get("N"))
    for name in (*_IN_ALL, "ntasks_per_node") if machines == "1" else ():
        number = given.get(name)
        if name in given:
            return (int(number), name) if number is not None and number.isdecimal() else None
    return None


def _of_step(command: Command, scheduler: Mapping[str, Word]) -> dict[str, str | None]:
    """The options of a step that `srun` starts: its own, and those of the job; of another command none."""
    words = command.words
    if not words or words[0].text != "srun":
        return {}
    return {name: word.text for name, word in scheduler.items()} | _options_of(words)


def once_on_each(launch: Launch, scheduler: Mapping[str, Word]) -> bool:
    """Whether a launch runs once on a machine: no `srun` repeats it there, by its options and those of the job."""
    if all(word.text != "srun" for word in launch.before):
        return True
    given = {name: word.text for name, word in scheduler.items()} | _options_of(launch.before)
    return given.get("ntasks_per_node") == "1"


def _options_of(words: tuple[Word, ...]) -> dict[str, str | None]:
    """What the options of a command give, by their names."""
    return {
        option.name: option.value
        for at, word in enumerate(words)
        if (word.text or word.option).startswith("-")
        for option, _ in (_option(words, at, frozenset()),)
    }


def _is_above_one(number: str | None) -> bool:
    return number is not None and number.isdecimal() and int(number) > 1


def texts_of(command: Command) -> Iterator[str]:
    """The words of a command, and those in the texts that it hands to a shell, with what the variables in them hold."""
    for word in command.words:
        for text in (word.text or "").split():
            held = command.environment.get(text.strip("${}\"'")) if "$" in text else None
            yield from (held.text or "").split() if held is not None else (text,)


_SHOW = frozenset({"echo", "printf", "pip", "pip3", "which", "command", "type", "pkill", "grep"})
"""Commands to which the name of a launcher is a word like any other."""

_INSTALLERS = frozenset({"install", "uninstall"})


def _launcher_at(words: tuple[Word, ...], index: int) -> tuple[Row | None, int]:
    """The launcher that the words at `index` name, and how many words that takes."""
    text = words[index].text
    if not text:
        return None, 0
    name = text.rsplit("/", 1)[-1]
    if name.startswith("python") or name == "-m":
        return _module_at(words, index)
    for row in LAUNCHERS:
        size = len(row.program)
        if size and name == row.program[0]:
            rest = tuple(word.text for word in words[index + 1 : index + size])
            before = words[index - 1].text if index else None
            if rest == row.program[1:] and before not in _INSTALLERS and _follows(words, index):
                return row, size
    return None, 0


def _follows(words: tuple[Word, ...], index: int) -> bool:
    """Whether a word at `index` may start a program: not the value of an option, nor an argument of a script."""
    return not any(
        word.text is not None and word.text.endswith((".py", ".sh", ".pex"))
        for word in words[:index]
    ) and not _goes_elsewhere(words[:index])


def _goes_elsewhere(words: tuple[Word, ...]) -> bool:
    """Whether a command changes the folder, and all that follows are words of it: the line before goes on here.

    groundingLMM e74865f GranD/run_pipeline.sh:81: `run_in_env grand_env_3 pushd 8_grit \\`, and the launch below.
    """
    return any((word.text or "").rpartition("/")[2] in ("cd", "pushd") for word in words)


def _module_at(words: tuple[Word, ...], index: int) -> tuple[Row | None, int]:
    """`python [-u …] -m torch.distributed.launch`."""
    for at in range(index, min(index + 6, len(words) - 1)):
        text = words[at].text
        if text == "-m":
            module = words[at + 1].text
            for row in LAUNCHERS if not _goes_elsewhere(words[:index]) else ():
                if module in (row.module, f"{row.module}.__main__"):
                    return row, at + 2 - index
            return None, 0
        if at > index and (text is None or not text.startswith("-")):
            return None, 0
    return None, 0


def _launch(command: Command, index: int, row: Row, length: int) -> Launch:
    words = command.words
    first, last = words[index].place, words[index + length - 1].place
    place = _from(first, last)
    options: dict[str, Option] = {}
    complete = True
    at = index + length
    while at < len(words):
        word = words[at]
        if word.text is None and not word.option:
            complete = False
            if word.given and not any((w.text or "").endswith(".py") for w in words[at:]):
                break  # the script is told which program
            at += 1
            continue
        if word.text is not None and (not word.text.startswith("-") or word.text == "-"):
            break
        option, used = _option(words, at, row.flags)
        options[option.name] = option
        at += used
    script = words[at] if at < len(words) else None
    module = None
    if "module" in options or "m" in options:
        script, module = None, script
    arguments, arguments_known = _arguments(words, at + 1)
    return Launch(
        row,
        place,
        options,
        script,
        arguments,
        command.environment,
        complete and arguments_known,
        module,
        positional(words[at + 1 :]),
        words[:index],
        command.background,
        command.repeated,
        complete,
    )


def positional(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words in front of the first option, or of what may be one."""
    return tuple(
        takewhile(
            lambda w: not (w.text or w.option or ("-" if not w.given else "")).startswith("-"),
            words,
        )
    )


def _arguments(words: tuple[Word, ...], at: int) -> tuple[dict[str, Option], bool]:
    """The options that a script is given, from the word at `at` on, and whether every word is known."""
    arguments: dict[str, Option] = {}
    complete = True
    while at < len(words):
        word = words[at]
        if word.text is None and not word.option:
            complete = False
        if word.text == "--":  # what follows are no options
            break
        if not (word.text or word.option).startswith("-"):
            at += 1
            continue
        option, used = _option(words, at, frozenset())
        at += used
        behind = words[at] if at < len(words) else None
        if behind is not None and behind.text and not behind.text.startswith("-"):
            option = replace(option, behind=behind)
        arguments[option.name] = option
    return arguments, complete


_IS_OPTION = pattern(r"--|-[A-Za-z]")
"""What argparse takes for an option, whether it is declared or not, and for no value: mdetr ea09acc .github/gqa.md:58, `--ema
-epochs 125`."""


def _option(words: tuple[Word, ...], at: int, flags: frozenset[str]) -> tuple[Option, int]:
    """The option at `at`, and how many words it takes."""
    word = words[at]
    if word.text is None:
        name = word.option.lstrip("-").replace("-", "_")
        handed = Word(None, word.place, given=word.given) if word.given else None
        return Option(name, None, word.place, False, word.option, word=handed), 1
    written, equals, value = word.text.partition("=")
    name = written.lstrip("-").replace("-", "_")
    if equals:
        return Option(name, value, word.place, word.sure, written), 1
    if name in flags or at + 1 >= len(words):
        return Option(name, None, word.place, word.sure, written, at + 1 >= len(words)), 1
    following = words[at + 1]
    if _IS_OPTION.match(following.text or following.option):
        return Option(name, None, word.place, word.sure, written, bare=True), 1
    place = _from(word.place, following.place)
    return Option(name, following.text, place, following.sure, written, word=following), 2


def _from(first: Place, last: Place) -> Place:
    """From the start of one place to the end of another."""
    return replace(first, end_line=last.end_line, end_column=last.end_column)
