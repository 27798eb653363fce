"""Which files beside the code say how it is launched, and with which versions, by their names and words in them."""

from __future__ import annotations

import enum
import re
from typing import Final

from distlint.patterns import pattern


class Kind(enum.Enum):
    """How a file is read."""

    YAML = "yaml"
    JSON = "json"
    SHELL = "shell"
    DOCKERFILE = "dockerfile"
    MAKEFILE = "makefile"
    GUIDE = "guide"
    """Markdown, which tells people what to type."""
    HEAD = "head"
    """The docstring and the comments at the head of a Python file, which tell how it is started."""
    REQUIREMENTS = "requirements"
    PROJECT = "project"
    """pyproject.toml."""
    LOCK = "lock"
    """The versions that are installed, as poetry, uv or pdm write them down."""


_SUFFIXES: Final = {
    ".yaml": Kind.YAML,
    ".yml": Kind.YAML,
    ".json": Kind.JSON,
    ".sh": Kind.SHELL,
    ".bash": Kind.SHELL,
    ".slurm": Kind.SHELL,
    ".sbatch": Kind.SHELL,
    ".sub": Kind.SHELL,
}

_HISTORY: Final = ("CHANGELOG", "CHANGES", "HISTORY", "NEWS", "RELEASE")
"""How the names of Markdown files begin that tell what was typed once."""

_DOCKERFILE: Final = pattern(r"dockerfile|Dockerfile[._-][^/]*|.*\.dockerfile", re.IGNORECASE)
"""poolformer a075575 detection/Dockerfile_mmdetseg."""
_MAKEFILES: Final = frozenset({"GNUmakefile", "Makefile", "makefile"})
"""GNU make 4.4 manual, 3.2: hotr d3cb632 Makefile:25."""
_SETTINGS: Final = frozenset({Kind.YAML, Kind.JSON})
_REQUIREMENTS: Final = ("requirements.txt", "requirement.txt")
"""TVTS 290a63e v1/requirement.txt: what the page beside it has people install."""
_NAMES: Final = {
    "pyproject.toml": Kind.PROJECT,
    "poetry.lock": Kind.LOCK,
    "uv.lock": Kind.LOCK,
    "pdm.lock": Kind.LOCK,
}

TELLS: Final = frozenset({Kind.SHELL, Kind.DOCKERFILE, Kind.MAKEFILE, Kind.GUIDE})
"""Files that would tell how a program is started."""

_ENDS: Final = (*_SUFFIXES, ".md", *_REQUIREMENTS, *_NAMES)

LAUNCH_LIMIT: Final = 256 * 1024
"""Bytes. Scripts and configurations are smaller; larger files are data, and are not opened."""
_LOCK_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of a lock file, which lists each wheel of each package."""

HEAD_SIZE: Final = 8 * 1024
"""Bytes at the beginning of a Python file that may tell how it is started."""
_IN_HEAD: Final = pattern(
    rb"torchrun[ \t]+-|torch\.distributed\.(?:launch|run)[ \t]|accelerate[ \t]+launch[ \t]|deepspeed[ \t]+[-\w./]*(?:-|\.py)"
)
_LAUNCHES: Final = pattern(rb"torchrun|torch\.distributed\.|accelerate|deepspeed|MASTER_PORT")
_WORDS: Final = {
    Kind.YAML: pattern(rb"distributed_type|compute_environment"),
    Kind.JSON: pattern(rb"zero_optimization|train_micro_batch_size_per_gpu|distributed_type"),
    # Several GPUs that are named are several processes, or were meant to be.
    Kind.SHELL: pattern(
        _LAUNCHES.pattern
        + rb"|\b(?:srun|mpirun)[ \t]|CUDA_VISIBLE_DEVICES=[\"']?\d+,|\bllamafactory-cli[ \t]+train\b"
    ),
    Kind.MAKEFILE: _LAUNCHES,
    Kind.DOCKERFILE: pattern(
        _LAUNCHES.pattern + rb"|pytorch/pytorch:[\d$]|torch==?\d|/torch\d|mmcv-full==1\.[0-4]\."
        rb"|nvidian?/pytorch:2[0-2]\.|timm==0\.[1-3]\."
    ),
    Kind.GUIDE: pattern(
        rb"torch\.distributed\.(?:launch|run)|torchrun|deepspeed[ \t]|accelerate[ \t]+launch|torch==?\d|/torch\d"
        rb"|[iI]nstall \[?[pP]y[tT]orch(?:\]\([^)\n]*\))? \[?v?[01]\.\d"
        rb"|mmcv-full==1\.[0-4]\.|timm==0\.[1-3]\.|ytorch\b[^\n]{0,60}\btested (?:on|with) "
        rb"|(?:ested|eveloped|e use)[ \w.,=]{1,16} [pP]y[tT]orch(?: version)?[ =]+v?[01]\."
        rb"|\bcudatoolkit==?\d|\bpython==?3\.[5-7]\b"
        # HRNet-Object-Detection 3493751 INSTALL.md:7, a list of what is required.
        rb"|(?m:^[ \t]*[-*+][ \t]+\**[pP]y[tT]orch\**[ \t:=`]*v?[01]\.\d)|nvidian?/pytorch:2[0-2]\."
        # MTR a5ba7bd docs/TRAIN_EVAL.md:14: `bash scripts/dist_test.sh 8`, and no launch but in the script; DiffuLLaMA c17e897
        # DiffuLLaMA-training/README.md:23: `bash run_distributed.sh`.
        rb"|(?:sh[ \t]+|\./)[\w./-]*(?:dist|train|tun|run|launch)\w*\.sh\b|\bsbatch[ \t]"
        # ClimaX 6d5d354 docs/usage.md:31: `--trainer.strategy=ddp --trainer.devices=8`, which Lightning starts.
        rb"|--trainer\.devices[= \t]|\bsrun[ \t]+-"
    ),
    Kind.REQUIREMENTS: pattern(
        rb"^(?:transformers|torch(?:vision|audio)?|accelerate|deepspeed)\b|^timm==0\.[0-3]\.|^mmcv-full==1\.[0-7]\.",
        re.MULTILINE,
    ),
    Kind.PROJECT: pattern(
        rb"(?:^[ \t]*[\"']?|[\"'])(?:transformers|torch|accelerate)\b", re.MULTILINE
    ),
    Kind.LOCK: pattern(rb"^name = \"(?:transformers|torch|accelerate)\"$", re.MULTILINE),
}
_PLAIN: Final = pattern(rb"^[^#\n]*\bpython[\d.]*[ \t]+[^\n]*\.py\b", re.MULTILINE)
"""A script that is started as one process: the only thing that tells it from those that a launcher starts."""
_STARTS: Final = pattern(
    rb"^[ \t]*(?:\w+=\S*[ \t]+)*(?:(?:ba)?sh[ \t]+|\./)[\w./-]+\.sh\b", re.MULTILINE
)
"""A shell script that another one starts: the launch may be there, and what it is given here."""
_OPENS: Final = pattern(
    rb"\b(?:Config\.fromfile|merge_from_file|OmegaConf\.load|(?<![\w.])open)\(\s*(?!self\b|cls\b)[A-Za-z]\w*\.([A-Za-z]\w*)\s*"
    rb"(?:\)|,(?!\s*(?:mode\s*=\s*)?[\"'][wax]))"
)
"""What reads a file under the very name that a setting gives: mmcv 1.7.2 utils/config.py, `check_file_exist`."""
_ON_ONE_GPU: Final = pattern(
    rb"\bonly (?:supports?|works (?:on|with)|runs on) (?:a |one )?single[- ]GPU\b(?! distributed)"
    rb"|\b(?:[mM]ultiple GPUs|[mM]ulti-GPU(?: training)?) (?:is|are) not (?:yet |currently )?supported\b"
)
"""What a page says of code that one process runs: pyreft dafd099 examples/loreft/README.md:7."""
_BY_MPI: Final = pattern(rb"\b(?:horovodrun|mpirun|mpiexec)[ \t]+-")
_ENVIRONMENT: Final = pattern(
    rb"^[ \t]*-[ \t]*[\"']?(?:(?:(?:py)?torch|accelerate|deepspeed|transformers|cudatoolkit)[ \t]*[=<>~]|python==?3\.[5-7]\b)",
    re.MULTILINE,
)
"""conda's list of packages, in YAML, where it names a version of torch or accelerate."""
_POD: Final = pattern(rb"^[ \t]*(?:-[ \t]+)?containers:[ \t]*(?:#.*)?$", re.MULTILINE)
"""A pod of Kubernetes, in a manifest."""
_DEVICES: Final = pattern(
    rb"^[ \t]*(?:devices|gpus|num_nodes)[ \t]*:[ \t]*\S|^[ \t]*(?:strategy|accelerator)[ \t]*:",
    re.MULTILINE,
)
"""What a Trainer of Lightning is told of devices, in YAML."""
_COMPOSED: Final = pattern(rb"^defaults:|^hydra:|\$\{[\w.:]+\}|\?\?\?", re.MULTILINE)
_BY_NAME: Final = pattern(
    rb"^[^#\n]*\bpython[\d.]*[ \t]+-m[ \t]+\w+\.\w[^\n]*(?:=|\\\r?\n[^#\n]*=)", re.MULTILINE
)
"""A module that is run by its name, with words like `key=value` behind it: verl's `python3 -m verl.trainer.main_ppo`."""
_TRAINER: Final = pattern(rb"\bper_device_train_batch_size\b")
"""An argument of transformers' Trainer, in a file that holds them."""
_MEETING: Final = pattern(
    rb"""\b(?:dist_url|init_method)["']?[ \t]*[:=][ \t]*["']?tcp://(?P<host>\[?[\w.-]+)"""
)
"""The address at which the processes meet, in a configuration: `dist_url: "tcp://localhost:54321"`."""
_THIS_MACHINE: Final = frozenset({b"localhost", b"127.0.0.1"})
_SPELLED: Final = pattern(rb"""["']--local([-_])rank["']""")
"""The argument by which torch's old launcher tells its number to each process of a machine: torch 2 writes a hyphen."""
_NUMBERED: Final = pattern(rb"""["'](?:LOCAL_)?RANK["']""")
"""The variables that every launcher of torch sets, the old one too."""
_CLASS_NAMED: Final = pattern(
    rb"""\b(?:_?target_?|class_path)["']?[ \t]*:[ \t]*["']?[A-Za-z_]\w*(?:\.\w+)*\.[A-Za-z_]\w*"""
    rb"""|\bclass(?:_name)?["']?[ \t]*:[ \t]*["']?[A-Z]\w\w"""
    rb"""|\btype["']?[ \t]*:[ \t]*["']?[a-z_]\w*(?:\.\w+)*\.[a-z_]\w*"""
)
"""A class, or a module, under the key that hydra, jsonargparse, `instantiate_from_config` and registries read it from."""

_PARSES: Final = pattern(rb"ars(?:er\(|e\(|e_(?:known_)?(?:arg|opt|conf|cmd|command|into))")
"""What parses a command line, here or in a function of another file that is called for it: `TrainOptions().parse()`."""
_READS: Final = (b"argv", b"hydra", b"FLAGS", b"cli_main")
"""Words of what reads one in another way: `cli_main()` is fairseq's (0.12.2 fairseq_cli/train.py)."""
_OLD_TIMM: Final = pattern(
    rb"^assert timm\.__version__ == [\"']0\.[12]\.\d+|^assert timm\.__version__ == [\"']0\.3\.[0-4][\"']",
    re.MULTILINE,
)
_SIX: Final = pattern(
    rb"^(?:from torch\._six import|import torch\._six|if [^\n]*\btorch\._six\.|from torchvision\.models\.utils import)",
    re.MULTILINE,
)
_GONE: Final = (b"torch._six", b"torchvision.models.utils")
"""VideoMAE-Action-Detection 15615db utils.py:15: `from torch._six import inf`; torchvision 0.11.0, which comes with torch
1.10.0, has no `torchvision/models/utils.py` any more (panoptic-deeplab cf8e20b segmentation/model/backbone/xception.py:9)."""
_FROM: Final = pattern(
    rb"^from[ \t]+([A-Za-z_][\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n(]*)", re.MULTILINE
)
_IMPORT: Final = pattern(rb"^import[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)
_OF_MMCV_1: Final = pattern(rb"^(?:from|import) mmcv\.(?:runner|parallel)\b", re.MULTILINE)
_SPAWNS: Final = pattern(
    rb"^[ \t]*(?P<name>\w+)[ \t]*=[ \t]*torch\.cuda\.device_count\(\)[ \t]*\r?$(?:[^\n]*\n)+?"
    rb"[^#\n]*\bspawn\([^#]*?\bnprocs[ \t]*=[ \t]*(?P=name)\b"
    rb"|^[^#\n]*\bspawn\([^#]*?\bnprocs[ \t]*=[ \t]*torch\.cuda\.device_count\(\)",
    re.MULTILINE,
)
_RELATIVE: Final = pattern(rb"^from[ \t]+\.[\w.]*[ \t]+import\b", re.MULTILINE)
_PARSES_ALL: Final = pattern(rb"\.parse_args\((?!\[\]\))")


def may_be_of_launch(name: str) -> bool:
    """Whether `kind_of` may say something of a file of this name, which costs a tenth of asking it."""
    return name.endswith(_ENDS) or "ockerfile" in name or "akefile" in name


def kind_of(name: str) -> Kind | None:
    """How the file `name` is read; None for one that has no say in a launch."""
    base = name.rpartition("/")[2]
    if _DOCKERFILE.fullmatch(base):
        return Kind.DOCKERFILE
    if base in _MAKEFILES:
        return Kind.MAKEFILE
    if base.endswith(".md"):
        return None if base.upper().startswith(_HISTORY) else Kind.GUIDE
    if base.endswith(_REQUIREMENTS):
        return Kind.REQUIREMENTS
    if base in _NAMES:
        return _NAMES[base]
    stem, dot, suffix = base.rpartition(".")
    return _SUFFIXES.get(f".{suffix}") if dot and stem else None


def is_readme(path: str) -> bool:
    """Whether a file is a README: other pages may tell of other projects."""
    return path.rpartition("/")[2].upper().startswith("README")


def is_data(name: str, size: int) -> bool:
    """Whether a file of `size` bytes is data, whatever its name says, and is not opened."""
    return size > (_LOCK_LIMIT if kind_of(name) is Kind.LOCK else LAUNCH_LIMIT)


def is_relevant(kind: Kind, data: bytes) -> bool:
    """Whether a file may hold something that a rule looks at, or names a class of the code."""
    return is_of_launch(kind, data) or (kind in _SETTINGS and names_classes(data))


def names_classes(data: bytes) -> bool:
    """Whether a configuration names what a program makes."""
    return _CLASS_NAMED.search(data) is not None


def is_of_launch(kind: Kind, data: bytes) -> bool:
    """Whether a file may say how the code is launched, or with which versions."""
    return (
        says_launch(kind, data)
        or (kind is Kind.YAML and _ENVIRONMENT.search(data) is not None)
        or (kind is Kind.SHELL and _STARTS.search(data) is not None)
        or (kind in (Kind.SHELL, Kind.GUIDE) and _PLAIN.search(data) is not None)
        or (kind is Kind.GUIDE and is_for_one_gpu(data))
        or (kind is Kind.YAML and (is_composed(data) or is_manifest(data) or tells_devices(data)))
        or (kind is Kind.SHELL and _BY_NAME.search(data) is not None)
        or (kind in _SETTINGS and (_MEETING.search(data) is not None or of_trainer(data)))
    )


def is_manifest(data: bytes) -> bool:
    """Whether a YAML is a manifest of Kubernetes with a launch in it."""
    return b"containers:" in data and _LAUNCHES.search(data) is not None and bool(_POD.search(data))


def is_composed(data: bytes) -> bool:
    """Whether a YAML may be one of those of which hydra composes a configuration: it has a list of defaults, or what OmegaConf
    fills in."""
    return _COMPOSED.search(data) is not None


def tells_devices(data: bytes) -> bool:
    """Whether a YAML may tell a Trainer of Lightning on which devices it trains."""
    return _DEVICES.search(data) is not None


def of_trainer(data: bytes) -> bool:
    """Whether a configuration holds arguments of transformers' Trainer, and names what DeepSpeed reads."""
    return b"deepspeed" in data and _TRAINER.search(data) is not None


def is_for_one_gpu(data: bytes) -> bool:
    """Whether a page says that what it is about works on a single GPU alone, and shows no launch by MPI or Horovod.

    UNITER 1dbfa62 README.md:104 says so of the inference, and trains by `horovodrun -np 8`.
    """
    return _ON_ONE_GPU.search(data) is not None and _BY_MPI.search(data) is None


def meets_here(kind: Kind, text: str) -> bool | None:
    """Whether processes meet at this machine's own address, by a configuration; None for one that names no address."""
    hosts = {found["host"] for found in _MEETING.finditer(text.encode())}
    return hosts <= _THIS_MACHINE if hosts and kind in _SETTINGS else None


def takes_any_rank(data: bytes) -> bool:
    """Whether a Python file goes on with torch's old launcher of any version, by what its parser accepts.

    It declares both spellings (mmpretrain 17a886c tools/train.py:64), or leaves what it does not know and takes its
    rank from the environment (Vision-RWKV 0e0e38a classification_internimage/main.py:139). One that declares the
    hyphen alone is of torch 2, whose launcher it goes on with. One that parses nothing itself refuses nothing: EasyNLP
    a4ee956 examples/kbert/kbert_cls.py has `initialize_easynlp()` do it, which takes what it knows. One that asserts an
    old timm runs with no torch but those whose launcher it was written for: Parametric-Contrastive-Learning fe56535
    GPaCo/MAE-ViTs/main_finetune.py:26.
    """
    if wants_old_timm(data) or needs_torch_1(data):
        return True
    if _PARSES.search(data) is None and not any(word in data for word in _READS):
        return True
    spelled = set(_SPELLED.findall(data)) if b"--local" in data else set()
    if spelled == {b"-", b"_"}:
        return True
    return (leaves_the_rest(data) or b"-" in spelled) and _NUMBERED.search(data) is not None


def wants_old_timm(data: bytes) -> bool:
    """Whether a Python file ends with every timm but one that torch 2 cannot import: `torch._six` is gone."""
    return b"timm.__version__" in data and _OLD_TIMM.search(data) is not None


def needs_torch_1(data: bytes) -> bool:
    """Whether a Python file ends with torch 2 where it is imported: `torch._six` is gone. Not in a `try`."""
    return any(word in data for word in _GONE) and _SIX.search(data) is not None


def imported_by(data: bytes) -> tuple[str, ...]:
    """The modules, and names in modules, that a Python file with a local rank among its options imports at its top."""
    if b"--local" not in data:
        return ()
    found: set[str] = set()
    for module, names in _FROM.findall(data):
        found.add(module.decode())
        found.update(f"{module.decode()}.{name}" for name in re.findall(r"\w+", names.decode()))
    found.update(name.decode() for name in _IMPORT.findall(data))
    return tuple(sorted(found))


def needs_mmcv_1(data: bytes) -> bool:
    """Whether a Python file imports, at its top, what mmcv 2.0.0 has no more."""
    return b"mmcv." in data and _OF_MMCV_1.search(data) is not None


def spawns_for_all(data: bytes) -> bool:
    """Whether a Python file starts a process for each GPU that it sees, whatever task of Slurm it is."""
    return b"spawn(" in data and b"SLURM_" not in data and _SPAWNS.search(data) is not None


def needs_package(data: bytes) -> bool:
    """Whether a Python file imports by its place in a package, at its top: Python cannot run it as a file."""
    return b"\nfrom ." in data and b"__package__" not in data and _RELATIVE.search(data) is not None


def takes_a_hyphen(data: bytes) -> bool:
    """Whether a Python file spells its local rank as torch 2's launcher passes it, and not as that of torch 1 did."""
    return b"--local-rank" in data and set(_SPELLED.findall(data)) == {b"-"}


def tells_in_head(path: str, data: bytes) -> bool:
    """Whether a Python file may tell at its head how it is launched."""
    return path.endswith(".py") and _IN_HEAD.search(data, 0, HEAD_SIZE) is not None


def leaves_the_rest(data: bytes) -> bool:
    """Whether a Python file parses what it knows of its command line and no more.

    DynamiCrafter c453369 main/trainer.py:37: `parser.parse_args([])` asks for the defaults.
    """
    return b"parse_known_args(" in data and _PARSES_ALL.search(data) is None


def composes_in_code(data: bytes) -> bool:
    """Whether a Python file may give hydra configurations that are no files, or other folders to look in."""
    return b"hydra" in data and any(each in data for each in (b"ConfigStore", b"SearchPath"))


def opened(data: bytes) -> tuple[str, ...]:
    """The settings whose values a Python file opens as files, under those very names: `OmegaConf.load(args.model)`."""
    if b"open(" not in data and b"fromfile" not in data and b"load(" not in data:
        return ()
    return tuple(sorted({name.decode() for name in _OPENS.findall(data)}))


def says_clipping(data: bytes) -> bool:
    """Whether a Python file names the key by which DeepSpeed is told how much to clip."""
    return b"gradient_clipping" in data


_OF_WRAPPED: Final = (b"DataParallel(", b"DDP(", b"'module.'", b'"module."')
"""What a file has that wraps models, or that takes the prefix of their keys off or puts it on."""


def loads_wrapped(data: bytes) -> bool:
    """Whether a Python file loads a state, and wraps a model in DDP or DataParallel, or knows of the prefix that those leave.

    MM_SLT 4359c0c test.py:132: `if k.startswith('module.')`, of each key of what main_ddp.py beside it has saved.
    """
    return b".load_state_dict(" in data and any(each in data for each in _OF_WRAPPED)


def says_launch(kind: Kind, data: bytes) -> bool:
    """Whether a file has the words of a launch, its configuration or its requirements."""
    return _WORDS[kind].search(data) is not None
