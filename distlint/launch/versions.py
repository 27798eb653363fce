"""Which versions of a package a project asks for: requirements.txt, pyproject.toml, lock files, conda's lists, and what pages tell."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from distlint.launch.kinds import Kind
from distlint.patterns import pattern
from distlint.records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_REQUIREMENT: Final = pattern(
    r"^(?P<name>[A-Za-z0-9][\w.-]*)[ \t]*(?:\[[^\]\n]*\])?(?P<clauses>[^#;\n]*)", re.MULTILINE
)
_OLDEST: Final = pattern(r"(?:>=|===?|~=|>)[ \t]*(\d+(?:\.\d+)*)")
"""The clauses of a requirement that name the oldest version which meets it, or one below."""
_NEWEST: Final = pattern(r"(<=?|===?|~=)[ \t]*(\d+(?:\.\d+)*)")
"""Those that name the newest, or the first that is too new."""
_ANY: Final = 1 << 16
"""Above every part of a version."""
_ENVIRONMENT: Final = pattern(
    r"^[ \t]*-[ \t]*[\"']?(?P<name>(?:py)?torch|accelerate|deepspeed|transformers|python|cudatoolkit)[ \t]*(?P<clauses>[=<>~][^#\n\"']*)",
    re.MULTILINE,
)
_NAMED: Final = pattern(r"^name:[ \t]*[\"']?(?P<name>[\w.-]+)", re.MULTILINE)
"""The name of the environment, at the top of conda's list."""
_TOLD: Final = pattern(
    r"(?:\binstall\b[^\n`]*?[ \t]|^[ \t>$]*|`(?=torch==))(?:py)?torch[ \t]*(?P<clauses>(?:==?|[<>]=?|~=)[ \t]*\d[^ \t\n`\"']*)",
    re.MULTILINE,
)
"""What a page tells people to install, or has been tried with: `conda install pytorch=1.7.0`."""
_LISTED: Final = pattern(
    r"^[ \t]*(?:[-*+][ \t]+)?\**(?P<name>(?:py)?torch|transformers|python)\**(?:[ \t]+version)?[ \t:=]*"
    r"(?P<quote>`?)v?(?P<version>\d+\.\d+(?:\.\d+)*)"
    r"(?P=quote)[,.]?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""One version in a page's list of what there has to be: `- PyTorch 1.8.1`, with or without a bullet or backticks, nothing
behind it but a comma (Efficient-AI-Backbones f90e129 tnt_pytorch/readme.md:7), or the period of the last one (mPLUG-DocOwl f91a768
UReader/README.md:49: `* transformers 4.29.1.`). Of Python as of torch: CoTNet 895e024 README.md:19, `* Python3.7`."""
_NUMBERS: Final = (
    r"v?\d+\.\d+(?:\.\d+)*(?:(?:, | and |, and | or )v?\d+\.\d+(?:\.\d+)*)*(?![\d.]*\+)"
)
_PINNED: Final = pattern(
    rf"^[ \t]*[-*+][ \t]+[*`]*(?:py)?torch[*`]*[ \t]*==?[ \t]*(?P<versions>{_NUMBERS})",
    re.MULTILINE | re.IGNORECASE,
)
"""The only versions that there may be: `- PyTorch == 1.8 or 1.12 (other versions are not tested)`, or conda's one `=`: SoftTeacher
0423bb2 README.md:84."""
_LINKED: Final = pattern(
    r"\binstall[ \t]+\[?(?:py)?torch(?:\]\([^)\n]*\))?[ \t]+\[?v?(?P<version>\d+\.\d+(?:\.\d+)*)"
    r"(?:\]\([^)\n]*\))?(?:[ \t]+(?:and|&)[ \t](?!(?:above|later|newer|up)\b)|[.,;]?[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
"""The one version that a sentence has people install, as a link: UVTR 8a24ec2 README.md:20, `Install PyTorch [v1.7.1](…)`."""
_BOUNDED: Final = pattern(
    r"^[ \t]*[-*+][ \t]+\[?[*`]*(?P<name>(?:py)?torch|python)[*`]*(?:\]\([^)\n]*\))?[ \t]*"
    r"(?P<clauses>>=?[ \t]*\d[\d.]*[ \t]*,[ \t]*<=?[ \t]*\d[\d.]*)[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""The bounds in a page's list: flatformer 31dc5a9 README.md:29, `* [PyTorch](…) >= 1.9, <= 1.10.2`."""
_OF_NVIDIA: Final = pattern(r"\bnvcr\.io/nvidian?/pytorch:(?P<year>\d\d)\.(?P<month>\d\d)-py3")
_RELEASES: Final = {
    (20, 2): "1.5",
    (20, 6): "1.6",
    (20, 8): "1.7",
    (20, 11): "1.8",
    (21, 3): "1.9",
    (21, 7): "1.10",
    (21, 11): "1.11",
    (22, 3): "1.12",
    (22, 6): "1.13",
}
"""The first of NVIDIA's images of each torch, up to 22.12: its containers' support matrix. Later ones hold torch 2, or what
became it."""
_WHEELS: Final = pattern(r"\bopenmmlab\.com/mmcv/dist/\w+/torch(?P<version>\d+\.\d+(?:\.\d+)?)/")
"""The torch for which the wheels of mmcv are built that a page or Dockerfile has people install."""
_MMCV: Final = pattern(r"\b(?P<name>mmcv(?:-full)?)[ \t]*(?P<clauses>==[ \t]*\d[\d.]*)")
"""The mmcv that a page or Dockerfile has people install."""
_OF_CONDA: Final = pattern(
    r"\bconda (?:create|install)\b[^\n`]*?[ \t](?P<name>python|cudatoolkit)[ \t]*(?P<clauses>==?[ \t]*\d[\d.]*)"
)
"""The Python, or CUDA, with which a page has people make an environment."""
_TIMM: Final = pattern(r"\btimm[ \t]*(?P<clauses>==[ \t]*\d[\d.]*)(?![^\n]*\bfix\b)")
"""The timm that a page or Dockerfile wants. With the fix that the page of MAE tells of, its old one runs with newer torches."""
_BESIDE_IT: Final = r"we use(?: python)?[ =]?[\d.]*(?:,| and)"
_TESTED: Final = pattern(
    rf"pytorch\b[^\n]{{0,60}}\btested (?:on|with) (?:versions? )?(?P<first>{_NUMBERS})"
    rf"|\b(?:tested (?:with|on|under|up to)|developed (?:with|for|on)|we use|{_BESIDE_IT}) pytorch(?: version)?[ =]+(?P<second>{_NUMBERS})"
    rf"|(?<!least )(?<!least \*\*)\bpython[ =]?\d[\d.]*\** and \**pytorch[ =]?(?P<third>{_NUMBERS})"
    r"(?!\**,? (?:or|and) (?:above|higher|later|newer|up)\b)",
    re.IGNORECASE,
)
"""The versions that a page says the code has been tried with: `PyTorch (currently tested on version 0.4 and 1.0)`, `We use
python3.8, pytorch 1.8.1 and timm==0.3.2`, or works with, both of one number (HE_MFR 9a93f49 readme.md:10: `**Python 3.7** and
**PyTorch 1.7**`)."""
_IMAGE: Final = pattern(
    r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)?pytorch/pytorch:(?:(?P<version>\d+(?:\.\d+)+)|\$\{?(?P<name>\w+))",
    re.MULTILINE | re.IGNORECASE,
)
"""The version in the image that a Dockerfile starts from, or the argument that holds it."""
_ARGUMENT: Final = pattern(
    r"^[ \t]*ARG[ \t]+(?P<name>\w+)=[\"']?(?P<version>\d+(?:\.\d+)+)", re.MULTILINE | re.IGNORECASE
)
"""What an argument of a Dockerfile is where nobody gives another: poolformer a075575 detection/Dockerfile_mmdetseg:1."""
_BESIDE: Final = pattern(
    r"(?:^|(?<=/))(?:docs?|docker|requirements|setup|environments?|envs?|conda)/$"
)
"""Folders that speak of the one around them: MeshTransformer cefc4af docs/INSTALL.md."""
_LOCKED: Final = pattern(
    r"^name = \"(?P<name>torch|transformers|accelerate)\"\nversion = \"(?P<version>\d+(?:\.\d+)*)",
    re.MULTILINE,
)
"""A package as poetry, uv and pdm write it: its name, and the version below it."""
_CARET: Final = pattern(r"\^[ \t]*((\d+)(?:\.\d+)*)")
"""Poetry's `^2.1`: that version and later ones, below 3."""


@dataclass(frozen=True, slots=True)
class _Implied:
    """The newest version of a package of those that only an older torch imports, and the newest such torch."""

    newest: tuple[int, ...]
    torch: tuple[int, ...]


_TRIED: Final = "torch-as-tried"
_IMPLIED: Final = {
    _TRIED: _Implied((1, _ANY), (1, _ANY)),
    "timm": _Implied((0, 3, 2), (1, 8, _ANY)),
    "mmcv-full": _Implied((1, 4, 2), (1, 10, _ANY)),
    "python": _Implied((3, 7, _ANY), (1, 13, _ANY)),
    "cudatoolkit": _Implied((11, 6, _ANY), (1, 13, _ANY)),
    "torchvision": _Implied((0, 14, _ANY), (1, 13, _ANY)),
    "torchaudio": _Implied((0, 13, _ANY), (1, 13, _ANY)),
}
"""timm 0.3.2 timm/models/layers/helpers.py: `from torch._six import container_abcs`, which torch 1.9.0 has no more.
torch 2.0.0 has no wheel for Python 3.7 (`requires_python` 3.8.0 and later), and conda's packages of it want `pytorch-cuda`,
not `cudatoolkit`. torchvision 0.14.1 and torchaudio 0.13.1 have `Requires-Dist: torch (==1.13.1)`, the next ones 2.0.0
(ginr-ipc 135f55c requirements.txt). mmcv-full 1.4.2 includes THC/THCAtomics.cuh, which torch 1.11.0 has no more: open-mmlab/mmcv issue 1582. What was tried with
torch 1 is of its time: XLM cd281d3 README.md:44.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that a file asks for: the oldest version and the newest; () where any will do."""

    path: str
    name: str
    oldest: tuple[int, ...]
    newest: tuple[int, ...] = ()
    implied: bool = False
    """Whether another package that is asked for runs with no newer one: what is said of it itself says more."""
    locked: bool = False
    """Whether it is the version that is installed, by a lock file: what others ask for says less."""
    environment: str = ""
    """The name of the environment of conda whose packages the file lists."""

    @property
    def environments(self) -> tuple[str, ...]:
        """What the environment is called whose packages the file lists: the name in it, and its own."""
        stem = self.path.rpartition("/")[2].rpartition(".")[0]
        return (self.environment, stem) if self.environment else ()


def required(kind: Kind, path: str, text: str) -> Iterator[Requirement]:
    """The packages that a file asks for."""
    reader = _READERS.get(kind)
    if reader is not None:
        text = text.replace("\r\n", "\n")  # EMA-VFI 75b6f6a README.md:34
        named = _NAMED.search(text) if kind is Kind.YAML else None
        environment = named["name"] if named is not None else ""
        for name, clauses in reader(text):
            found = _requirement(path, name, clauses, locked=kind is Kind.LOCK)
            yield replace(found, environment=environment)
            implied = _IMPLIED.get(found.name)
            if implied is not None and found.newest and found.newest <= implied.newest:
                yield Requirement(path, "torch", (), implied.torch, True, environment=environment)


def near(requirements: Sequence[Requirement], name: str, path: str) -> list[Requirement]:
    """What is asked of a package in the folder of `path`, or above; what a lock file says there alone."""
    found = [
        each for each in requirements if each.name == name and path.startswith(_about(each.path))
    ]
    return [each for each in found if each.locked] or found


def closest(requirements: Iterable[Requirement], path: str) -> list[Requirement]:
    """What is asked for in the folder of `path`, else in the closest above in which anything is."""
    around = [
        (len(about), each) for each in requirements if path.startswith(about := _about(each.path))
    ]
    deepest = max((length for length, _ in around), default=0)
    return [each for length, each in around if length == deepest]


def _about(path: str) -> str:
    """The folder of which a file speaks, with its `/`."""
    return _BESIDE.sub("", path[: path.rfind("/") + 1])


def _in_lines(text: str) -> Iterator[tuple[str, str]]:
    for found in _REQUIREMENT.finditer(text):
        yield found["name"], found["clauses"]


def _in_environment(text: str) -> Iterator[tuple[str, str]]:
    """The versions of torch and what trains with it in conda's list of packages, which writes one `=`."""
    for found in _ENVIRONMENT.finditer(text):
        yield (
            found["name"].replace("pytorch", "torch"),
            re.sub(r"(?<![=<>~])=(?!=)", "==", found["clauses"]),
        )


def _in_guide(text: str) -> Iterator[tuple[str, str]]:
    """The versions of torch that a page has people install, with conda's one `=` or pip's two, or lists."""
    for found in _TOLD.finditer(text):
        yield "torch", re.sub(r"(?<![=<>~])=(?!=)", "==", found["clauses"])
    for found in _LISTED.finditer(text):
        yield found["name"].lower().replace("pytorch", "torch"), f"=={found['version']}"
    for found in _LINKED.finditer(text):
        yield "torch", f"=={found['version']}"
    for found in _PINNED.finditer(text):
        yield from (("torch", f"=={each}") for each in _versions_in(found["versions"]))
    for found in _BOUNDED.finditer(text):
        yield found["name"].lower().replace("pytorch", "torch"), found["clauses"]
    for found in _OF_NVIDIA.finditer(text):
        released = int(found["year"]), int(found["month"])
        before = [torch for first, torch in _RELEASES.items() if first <= released <= (22, 12)]
        yield from (("torch", f"=={torch}") for torch in before[-1:])
    for found in _WHEELS.finditer(text):
        yield "torch", f"=={found['version']}"
    for found in _MMCV.finditer(text):
        yield found["name"], found["clauses"]
    for found in _OF_CONDA.finditer(text):
        yield found["name"], re.sub(r"^=(?!=)", "==", found["clauses"])
    for found in _TIMM.finditer(text):
        yield "timm", found["clauses"]
    tried = [next(filter(None, found.groups())) for found in _TESTED.finditer(text)]
    versions = [version for each in tried for version in _versions_in(each)]
    if all(version[:2] in ("0.", "1.") for version in versions):
        yield from ((_TRIED, f"=={version}") for version in versions)


def _versions_in(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)+", text)


def _in_image(text: str) -> Iterator[tuple[str, str]]:
    """The version of torch in the image that a Dockerfile starts from, and those that it installs."""
    arguments = {found["name"]: found["version"] for found in _ARGUMENT.finditer(text)}
    for found in _IMAGE.finditer(text):
        version = found["version"] or arguments.get(found["name"])
        if version is not None:
            yield "torch", f"=={version}"
    yield from _in_guide(text)


def _in_lock(text: str) -> Iterator[tuple[str, str]]:
    for found in _LOCKED.finditer(text):
        yield found["name"], f"=={found['version']}"


def _in_project(text: str) -> Iterator[tuple[str, str]]:
    """The dependencies of pyproject.toml, those of extras and groups too; nothing of one that cannot be read."""
    try:
        document: object = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    project = _at(document, "project")
    extras = _at(project, "optional-dependencies")
    groups = _at(document, "dependency-groups")
    lists = [_at(project, "dependencies")]
    lists += [
        each for table in (extras, groups) if isinstance(table, dict) for each in table.values()
    ]
    for entries in lists:
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, str):
                yield from _in_lines(entry)
    poetry = _at(_at(document, "tool"), "poetry")
    tables = [_at(poetry, "dependencies")]
    more = _at(poetry, "group")
    tables += [
        _at(each, "dependencies") for each in (more.values() if isinstance(more, dict) else ())
    ]
    for table in tables:
        for name, given in table.items() if isinstance(table, dict) else ():
            version = _at(given, "version") if isinstance(given, dict) else given
            if isinstance(version, str):
                yield name, _of_poetry(version)


def _of_poetry(version: str) -> str:
    """Poetry's clauses as pip writes them: a bare version is that one."""
    if version[:1].isdigit():
        return f"=={version}"
    return _CARET.sub(lambda found: f">={found[1]},<{int(found[2]) + 1}", version)


def _at(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


_READERS: Final[dict[Kind, Callable[[str], Iterator[tuple[str, str]]]]] = {
    Kind.REQUIREMENTS: _in_lines,
    Kind.PROJECT: _in_project,
    Kind.LOCK: _in_lock,
    Kind.YAML: _in_environment,
    Kind.JSON: _in_environment,
    Kind.GUIDE: _in_guide,
    Kind.DOCKERFILE: _in_image,
}


def _requirement(path: str, name: str, clauses: str, *, locked: bool) -> Requirement:
    oldest = [tuple(map(int, each.split("."))) for each in _OLDEST.findall(clauses)]
    newest = [_bound(sign, each) for sign, each in _NEWEST.findall(clauses)]
    name = re.sub(r"[-_.]+", "-", name).lower()
    bounds = max(oldest, default=()), min(newest, default=())
    return Requirement(path, name, *bounds, locked=locked)


def _bound(sign: str, version: str) -> tuple[int, ...]:
    """The newest version that a clause lets in: `<2.0` those below 2, `~=1.9.0` all of 1.9, `==1.9` that one."""
    parts = [*map(int, version.split("."))]
    if sign == "~=":
        return (*parts[:-1], _ANY)
    if sign != "<":
        return tuple(parts)
    while parts and not parts[-1]:
        parts.pop()
    return (*parts[:-1], parts[-1] - 1, _ANY) if parts else (0,)
