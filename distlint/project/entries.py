"""A file of a run, and what is asked of its content: answers are kept, so that few files are read again."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from distlint.columns import split_lines
from distlint.knowledge.shares import METER_CLASSES
from distlint.launch.heads import head_of
from distlint.launch.kinds import TELLS, kind_of, says_launch
from distlint.launch.sections import classes_in_sections
from distlint.nodes import last_name
from distlint.patterns import pattern
from distlint.project.cache import FileFacts, content_digest
from distlint.project.files import ProjectFile
from distlint.project.imports import Written, as_written
from distlint.project.reading import Unreadable, check_size, parse, python_text
from distlint.project.trees import Trees
from distlint.records import dataclass
from distlint.words import words_in

Answer = TypeVar("Answer")
Others = ParamSpec("Others")

CALLED: Final = pattern(r"\b([A-Za-z_]\w{5,})\(|@([A-Za-z_]\w{5,})")
"""Names that are called or used as decorators. Shorter ones (`save`, `train`) tell too little."""

_SHORTEST: Final = 6
_DECORATOR: Final = pattern(r"@([A-Za-z_]\w{5,})")

_DOWNLOADS: Final = pattern(r"\b(?:urlretrieve|\w*download\w*)\(")
"""Calls that fetch files. What only one rank should do stands in helpers that know of no ranks."""

_TOUCHES_FILES: Final = pattern(
    r"\b(?:urlretrieve|wget|\w*download\w*|extractall|unpack_archive|rmtree|unlink|makedirs"
    r"|save|savez|save_file|dump|copy2?|copyfile|copytree|move|rename|replace|to_csv|to_parquet"
    r"|listdir|scandir|walk|i?glob|rglob|iterdir"
    r"|write_text|write_bytes)\("
    r"|\bopen\([^()]*(?:\([^()]*\)[^()]*)*,\s*(?:mode\s*=\s*)?[\"'][rb]?[wx]"
)
"""Calls that fetch, write, remove or list files."""

_DRAWS: Final = pattern(
    r"\b(?:torch|th)\.(?:rand|randn|randint|rand_like|randn_like|randperm|bernoulli|normal)\("
    r"|\b(?:np|numpy)\.random\.(?:rand|random|uniform|permutation|shuffle)\("
    r"|\brandom\.(?:random|shuffle|sample)\("
)
"""Calls that draw from a global stream, as models, losses and data sets do.

`import torch as th`: guided-diffusion's `gaussian_diffusion.py`, and what is made of it (ProphetNet 5cf70eb GENIE).
"""

_STARTS_CUDA: Final = pattern(r"^\w.*(?:\bcuda\.is_available\(|\.cuda\()", re.MULTILINE)
"""Lines at the top of a file that start CUDA while it is imported."""

_PYTHON_FILE: Final = pattern(r"([\w-]+)\.py\b|(?:-m|--module)[ \t]+(?:\w+\.)*(\w+)")
_LAUNCH: Final = pattern(
    r"(?:torchrun|torch\.distributed\.(?:launch|run)|accelerate[ \t]+launch|deepspeed|srun|mpirun|mpiexec)\b(?:\\\r?\n|.)*"
)
_IMPORTS_BY_NAME: Final = pattern(
    r"\bimport_module\(\s*[A-Za-z_]|\binstantiate\(|\blocate\(|\bget_(?:class|object)\(|\bload_config_dict\("
    r"|\bLightningCLI\b"
)
"""Calls that get a class by a name that is only known at run time; LightningCLI by the `class_path` of its configuration."""

_TRACKS: Final = pattern(r"wandb\.init\(|mlflow\.start_run\(|SummaryWriter\(")
"""Calls that open a run of an experiment tracker."""

_GENERATES: Final = pattern(r"\.generate\(")
"""Calls that each rank of a sharded model leaves when its own texts end."""

_EVALUATES: Final = pattern(
    r"^def \w*(?:eval|valid|test)\w*\([^)]*\b(?:model|net|network)\b", re.MULTILINE
)
"""Functions that are handed a model to evaluate: who calls them on one rank hands over its wrapper."""

_STOPS: Final = pattern(r"\.\w*stop\w* *= *(?:True|False)\b")
"""Flags that end a training: whether anything sets them, and on which ranks, decides who leaves its loop."""

_MODELS_OR_DATA: Final = pattern(
    r"^\s*class \w+\([^)]*(?:\bModule|DataModule|(?:Dataset|Sampler)\w*)\b[^)]*\):"
    r"|^def (?:build|create|get|init|make|prepare|setup)_(?:\w+_)?"
    r"(?:models?|module|net|network|backbone|(?:data)?loaders?|datasets?|trainer|strategy)(?:_\w+)?\("
    r"|^def (?:\w+_)?data_?(?:sets?|loaders?|factory)(?:_\w+)?\(",
    re.MULTILINE,
)
"""Models, whose layers a wrapper waits for, what divides data between the ranks, and what makes them."""

_METERS: Final = pattern(rf"^class \w*(?:{METER_CLASSES.pattern})", re.MULTILINE)
"""What keeps the numbers of an evaluation, of one rank or put together, in a file that often knows of neither."""

_CLASS: Final = pattern(r"^class (\w+)\(([^)]*)\)", re.MULTILINE)
"""A class and its bases."""

_CAPITALIZED: Final = pattern(r"\b[A-Z]\w*[a-z]\w*")
"""What is called as classes are."""


@dataclass(slots=True)
class Entry:
    """A file of the run: where, whether findings in it are wanted, and what it turned out to be."""

    file: ProjectFile
    reported: bool
    own: bool = True
    """Whether a check of the whole project reports what is in it."""
    facts: FileFacts | None = None
    overlay: bytes | None = None
    """What counts instead of what is on disk."""
    trees: Trees | None = None
    """What earlier checks of this process have parsed."""
    text: str = ""
    tree: ast.Module | None = None
    failure: Unreadable | None = None
    analysed: bool = False
    """Whether it is part of what is analysed."""
    module: str = ""
    meant: Mapping[Written, str] | None = None
    chosen: tuple[tuple[str, str], ...] = ()
    """What configurations have it make, by the keys of the section and the names of this tree."""
    lacking: tuple[Written, ...] = ()
    """What it imports of packages of this tree that do not have it."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What is known of its content: lists, texts, numbers, by the question that they answer."""
    asked: bool = False
    """Whether `kept` has got something new."""
    stale: bool = False
    """Whether the file is gone, or holds something else than when its hash was taken."""

    def read(self) -> str:
        """The text; empty, and a failure, where there is none."""
        try:
            if not self.text:
                data = self.overlay
                if data is None:
                    check_size(self.file.stamp[2])
                    data = read_bytes(self.file.path)
                    self.stale = self.facts is None or content_digest(data) != self.facts.digest
                self.text = python_text(self.file.path, data).removeprefix("\ufeff")
        except Unreadable as failure:
            self.failure = failure
        except OSError as error:
            self.failure = Unreadable(reason_of(error))
            self.stale = True
        return self.text

    def parse(self) -> ast.Module | None:
        """The syntax tree; None, and a failure, where there is none."""
        if self.tree is None and self.failure is None and not self._is_kept():
            text = self.read()
            try:
                self.tree = parse(text) if self.failure is None else None
            except Unreadable as failure:
                self.failure = failure
        return self.tree

    def _is_kept(self) -> bool:
        known = None
        if self.trees is not None and self.facts is not None:
            known = self.trees.of(self.file.path, self.facts.digest)
        if known is not None:
            self.text, self.tree = known
        return known is not None

    def let_go(self) -> None:
        """The text and tree are needed no more in this check."""
        if self.trees is not None and self.tree is not None and self.facts and not self.stale:
            self.trees.keep(self.file.path, self.facts.digest, self.text, self.tree)
        self.text, self.tree = "", None

    def ask(
        self,
        question: Callable[Concatenate[Entry, Others], Answer],
        *args: Others.args,
        **kwargs: Others.kwargs,
    ) -> Answer:
        """What a question says of the content: kept from an earlier run of this engine, or found now.

        The other arguments are the same for all files of all runs of an engine.
        """
        name = question.__name__
        if name in self.kept:
            known: Answer = self.kept[name]
            return known
        answer = question(self, *args, **kwargs)
        if not self.stale:
            self.kept[name] = answer
            self.asked = True
        return answer

    def parses(self) -> bool:
        """Whether there is a syntax tree; the failure where there is none."""
        if self.tree is None and self.failure is None:
            failure = self.ask(failure_of)
            if failure:
                self.failure = Unreadable(*failure)
        return self.failure is None


# Questions. Their names are the keys under which the answers are kept.


def failure_of(entry: Entry) -> list[Any]:
    """Why a file has no syntax tree, and where; empty where it has one."""
    entry.parse()
    failure = entry.failure
    return [failure.reason, failure.line, failure.column] if failure is not None else []


def called_names(entry: Entry) -> str:
    """The names that a file calls or decorates with."""
    return _called(entry.read())


def _called(text: str) -> str:
    if not text.isascii():
        return " ".join(sorted({name or decorator for name, decorator in CALLED.findall(text)}))
    # The same at half the cost: no expression looks at each word.
    names = {
        word[:-1]
        for word in words_in(text)
        if word[-1] == "(" and len(word) > _SHORTEST and not word[0].isdigit()
    }
    if "@" in text:
        names.update(_DECORATOR.findall(text))
    return " ".join(sorted(names))


def bases_as_written(entry: Entry) -> list[list[str]]:
    """The classes of a file, each with its bases, by their words alone."""
    return [list(pair) for pair in _CLASS.findall(entry.read())]


def downloads(entry: Entry) -> bool:
    """Whether a file may fetch others."""
    text = entry.read()
    # What every match holds is found at a tenth of the cost.
    return ("download" in text or "urlretrieve(" in text) and _DOWNLOADS.search(text) is not None


def serves_training(entry: Entry) -> bool:
    """Whether a file may fetch, write or remove others, draws random numbers, or defines models or data sets.

    Or makes loaders, starts CUDA on import, opens a tracker, has a model generate, evaluates one or keeps its numbers, gets classes by
    names, or ends a training.
    """
    text = entry.read()
    if entry.file.path.endswith("__init__.py") and "import " in text:
        return True  # a model passes through its package
    searches = (
        _TOUCHES_FILES,
        _DRAWS,
        _MODELS_OR_DATA,
        _STARTS_CUDA,
        _TRACKS,
        _GENERATES,
        _EVALUATES,
        _METERS,
        _IMPORTS_BY_NAME,
        _STOPS,
    )
    return "DataLoader(" in text or any(words.search(text) for words in searches)


def imports_by_name(entry: Entry) -> bool:
    """Whether a file gets classes by names that are only known at run time."""
    return _IMPORTS_BY_NAME.search(entry.read()) is not None


def classes_of_configuration(entry: Entry) -> list[list[str]]:
    """What a configuration has a program make: the keys of each section with the class that it names."""
    kind = kind_of(entry.file.path)
    return [list(section) for section in classes_in_sections(kind, entry.read())]


def scripts_named(entry: Entry) -> list[str]:
    """The names of the Python files that a script or page with launches mentions."""
    kind, text = kind_of(entry.file.path), entry.read()
    if kind not in TELLS or not says_launch(kind, text.encode("utf-8", "replace")):
        return []
    return sorted({f"{found[1] or found[2]}.py" for found in _PYTHON_FILE.finditer(text)})


def scripts_launched(entry: Entry) -> list[str]:
    """The names of the Python files that stand behind a launcher in a script or page, in one command."""
    if kind_of(entry.file.path) not in TELLS:
        return []
    found = (
        name for command in _LAUNCH.findall(entry.read()) for name in _PYTHON_FILE.findall(command)
    )
    return sorted({f"{file or module}.py" for file, module in found})


def head(entry: Entry) -> str:
    """What a Python file says at its head."""
    return head_of(entry.read())


def imports_of(entry: Entry) -> list[Any]:
    """What `Imports.meant` asks of a parsed file."""
    tree = entry.parse()
    return [[], [], False] if tree is None else [*as_written(entry.file.path, tree, entry.text)]


def callables(entry: Entry, words: Sequence[str]) -> list[list[Any]]:
    """What the callers of a module may call, functions, methods, and classes, which make objects: the name
    of each, whether one of `words` stands in it, and the names called in it.

    OpenRLHF openrlhf/utils/utils.py:26: `get_strategy()`, which every script calls, makes the strategy.
    """
    tree = entry.parse()
    if tree is None:
        return []
    lines = split_lines(entry.text)
    words = [word for word in words if word in entry.text]
    found: list[list[Any]] = []
    for node in [*_functions(tree), *_classes(tree)]:
        body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        found.append([node.name, any(word in body for word in words), _called(body)])
    return found


def classes(entry: Entry) -> list[list[Any]]:
    """The classes of a parsed module, each with the last names of its bases."""
    tree = entry.parse()
    return [] if tree is None else [[c.name, [*map(last_name, c.bases)]] for c in _classes(tree)]


def parsed_classes(entry: Entry) -> list[str]:
    """What may be the dataclasses of whose fields a file makes options: `HfArgumentParser(_TRAIN_ARGS)`."""
    text = entry.read()
    return sorted(set(_CAPITALIZED.findall(text))) if "HfArgumentParser(" in text else []


def annotated_classes(entry: Entry) -> list[str]:
    """The classes of what the functions of a parsed module are given, but for settings of constructors.

    sentence-transformers 6.2.0 cross_encoder/fit_mixin.py: a callback saves its `model: CrossEncoder`.
    """
    tree = entry.parse()
    if tree is None:
        return []
    return sorted(
        {
            last_name(parameter.annotation)
            for function in _functions(tree)
            if function.name != "__init__"
            for parameter in (*function.args.args, *function.args.kwonlyargs)
            if parameter.annotation is not None
        }
    )


def _functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions of a module and methods of its classes."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for node in tree.body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(each)
    return found


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    """The classes of a module."""
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def read_bytes(path: str) -> bytes:
    """The content of a file."""
    with open(path, "rb", buffering=0) as stream:
        return stream.read()


def reason_of(error: OSError) -> str:
    """Why a file cannot be read."""
    return f"cannot be read: {(error.strerror or str(error)).lower()}"
