"""A port that does not exist.

## What it does
Finds ports below 0 or above 65535, and text that is no number, where ranks meet: `MASTER_PORT`, `--master_port`,
`main_process_port`, `init_method="tcp://…"`, in shell scripts, configurations, and code; numbers that are too large in the commands of pages as well.
In code also ports below 1024, written out or drawn, where a tenth of the draws and more end there.

## Why it is bad
Every rank raises before it has met another one: rank 0 cannot listen on such a port. A number of six digits is
written quickly, and a port that is computed from a job's number leaves the range only for some jobs. Below 1024, Linux lets
root alone listen: who starts the job as another user sees rank 0 end, and the others wait for it.

## Errors you may see
- `port must be 0-65535`
- `Port could not be cast to integer value`
- `The server socket has failed to listen on any local network address`
- `errno: 13 - Permission denied`

## Example
```python
os.environ["MASTER_PORT"] = "123456"
```

## Use instead
```python
os.environ["MASTER_PORT"] = "12345"
```

## Fix safety
No fix: any free port will do, and which is free a person knows. `torchrun --standalone` takes one by itself.

## Known limits
Ports that come from variables are not followed. Information in code where none of the files that belong together makes a process group. A number that is too large is a warning where the project asks for a
torch before 1.10 alone, which drops what is above 16 bits. Whether a port is taken, `distlint doctor` looks up.

Not proven: the socket refuses the number on one process as well.

## References
- torch 2.13.0, `distributed/rendezvous.py`, `csrc/distributed/c10d/socket.cpp`
- Linux ip(7): `ip_unprivileged_port_start`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.definitions import Module
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.without_group import makers_in
from distlint.findings import Finding, Place, Severity
from distlint.knowledge.configuration.launchers import PORT_VARIABLES, PORTS
from distlint.launch.project import Format, LaunchFiles
from distlint.patterns import pattern
from distlint.rule import Status

from .privileged import drawn_low, is_privileged

CODE = "DL806"
NAME = "invalid-port"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = (b"MASTER_PORT", b"master_port")

_PLACEHOLDER = pattern(r"<.*>|\{.*\}|[A-Z][A-Z_]*|None|null")
"""LoRA c4593f0 examples/NLU/examples/research_projects/distillation/README.md:153; ByteTrack d1bf019 yolox/core/launch.py:64,
whose launcher sets the variable."""
_REFUSED_SINCE = (1, 10)
"""pytorch issue 67172: before, TCPStore took the port modulo 65536."""
_WORDS = ("_port", "-port", "_PORT", "init_method")
"""What every name of a port ends with, and what is given its URL."""
_URL = pattern(r"tcp://(?:\[[^\]]*\]|[^:/\s]+):(\d+)")


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Ports in configurations and on command lines."""
    for configuration in files.of(Format.ACCELERATE):
        port = configuration.values.get("main_process_port")
        if port is not None and not (isinstance(port, int) and 0 <= port <= 65535):
            yield _finding(str(port), configuration.place(("main_process_port",)))
    told: set[tuple[str, int]] = set()
    for script, launch in files.launches(told=True):
        is_port = _may_be_port if script.told else _is_port
        # poolformer a075575 detection/dist_train.sh:8: 66667, with torch 1.8.0.
        wraps = files.older_than("torch", _REFUSED_SINCE, script.path, launch.conda)
        for name in PORTS & launch.options.keys():
            option = launch.options[name]
            if option.value is not None and option.sure and not is_port(option.value):
                told.add((option.value, option.place.line))
                yield _finding(option.value, option.place, wraps=wraps)
        for name in PORT_VARIABLES & launch.environment.keys():
            word = launch.environment[name]
            said = (word.text or "", word.place.line)
            if word.text and word.sure and not is_port(word.text) and said not in told:
                told.add(said)
                yield _finding(word.text, word.place, wraps=wraps)


def check(model: Model) -> Iterator[Finding]:
    """Ports in code."""
    for module in model.modules:
        if not any(word in module.source.text for word in _WORDS):
            continue
        for value in _ports_in(module):
            if isinstance(value.value, str) and (url := _URL.search(value.value)):
                port = url[1]
            else:
                port = str(value.value)
            if not _is_port(port):
                wraps = model.launch.older_than("torch", _REFUSED_SINCE, module.path)
                found = _finding(port, place_of(module, value), wraps=wraps)
                yield found if _meets(model, module) else replace(found, severity=Severity.INFO)
            elif is_privileged(port) and _meets(model, module):
                yield _of_root(f"`{port}` is", place_of(module, value))
        for call, low, high in drawn_low(model, module):
            if _meets(model, module):
                yield _of_root(f"A number from {low} to {high} is often", place_of(module, call))


def _meets(model: Model, module: Module) -> bool:
    """Whether something in the files that belong to one makes the group: else what does may have a port of its own.

    TorchSemiSeg 5e0c29c exp.voc/voc8.res50v3+.CPS/train.py:42, whose `Engine`, of a folder that is put on the path, sets
    the variable anew in front of `init_process_group()`.
    """
    return any(makers_in(model.program, each) for each in linked(model.program, module))


@all_remembered
def _ports_in(module: Module) -> Iterator[ast.Constant]:
    for function in module.all_functions:
        for node in own_nodes(function):
            yield from _ports(node)


def _ports(node: ast.AST) -> Iterator[ast.Constant]:
    """The constants that a statement or call makes a port."""
    match node:
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(name)))], value=value):
            if name in PORT_VARIABLES:
                yield from _constants(value)
        case ast.Call(func=func, args=args, keywords=keywords):
            called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            match args:
                case [ast.Constant(value=str(name)), default, *_] if (
                    called in ("setdefault", "get", "getenv", "putenv") and name in PORT_VARIABLES
                ):
                    yield from _constants(default)
                case [ast.Constant(value=str(name)), *_] if called == "add_argument":
                    if name.lstrip("-").replace("-", "_") in PORTS:
                        defaults = [k.value for k in keywords if k.arg == "default"]
                        yield from (each for value in defaults for each in _constants(value))
            for keyword in keywords:
                if keyword.arg in PORTS or keyword.arg in PORT_VARIABLES:
                    yield from _constants(keyword.value)
                elif keyword.arg == "init_method":
                    yield from _urls(keyword.value)


def _constants(node: ast.expr) -> Iterator[ast.Constant]:
    """A port that is written as such, also inside `str(…)`. `None` and "" mean that there is none."""
    match node:
        case ast.Call(func=ast.Name(id="str" | "int"), args=[inner]):
            yield from _constants(inner)
        case ast.Constant(value=bool() | None | ""):
            return
        case ast.Constant(value=int() | str()):
            yield node


def _urls(node: ast.expr) -> Iterator[ast.Constant]:
    match node:
        case ast.Constant(value=str(text)) if _URL.search(text):
            yield node


def _is_port(text: str) -> bool:
    """Whether ranks can meet there, or the text only holds the place of a port: `AN_OPEN_PORT`, `"None"`."""
    if _PLACEHOLDER.fullmatch(text.strip()):
        return True
    return text.strip().isdecimal() and int(text) <= 65535


def _may_be_port(text: str) -> bool:
    """Whether what a page says for a port is one, or no number: `...`, which the reader fills in."""
    return not text.strip().isdecimal() or _is_port(text)


def _of_root(says: str, place: Place) -> Finding:
    text = (
        f"{says} a port of the system's: where the job is not root's, rank 0 cannot listen there, and no rank goes on. Use a "
        "number from 1024 to 65535."
    )
    return Finding(CODE, NAME, Severity.WARNING, text, place)


def _finding(port: str, place: Place, *, wraps: bool = False) -> Finding:
    if wraps and port.strip().isdecimal():
        text = (
            f"`{port}` is no port: torch before 1.10 listens at {int(port) % 65536} instead, and newer ones raise in "
            "`init_process_group` on every rank. Use a number from 1024 to 65535."
        )
        return Finding(CODE, NAME, Severity.WARNING, text, place)
    text = (
        f"`{port}` is no port: rank 0 cannot listen there, and `init_process_group` raises on every "
        f"rank. Use a number from 1024 to 65535."
    )
    return Finding(CODE, NAME, SEVERITY, text, place)
