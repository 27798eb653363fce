"""Which entry points lead to a place, and what their code shows of several processes.

A script, a notebook, a file of tests: what starts there and meets no other process is of one, whatever the library does
for others that it uses. What shows several is positive: the code that the entry leads to makes a process group, starts
processes, hands them to a trainer, or reads the number that a launcher gives each; or its text names the launcher.
"""

from __future__ import annotations

import ast
import enum
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.processes import is_of_tests
from distlint.analysis.live.several import is_one_kernel
from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.environment import own_statements
from distlint.analysis.program.linked import imported_below, importers
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.named import Part, named_from, run_on_import
from distlint.analysis.program.places import source_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.dispatched import commands_of
from distlint.knowledge.numbering import MAKES_GROUP, VARIABLES, is_numbered, names_launcher
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_NOTEBOOK: Final = ".ipynb"
_OF_LIBRARIES: Final = pattern(
    r"(?:^|\.)(?:\w*spawn|start_processes|launch\w*|\w+_launch(?:er)?|call_main|pretrain)$"
    r"|(?:^|\.)(?:Accelerator|PartialState|AcceleratorState|Fabric|LightningCLI|\w*Runner|\w*Trainer|\w*TrainingArguments)(?:\.|$)"
    r"|(?i:deepspeed|bmt|smp|fairscale)\w*\.\w*init\w*$|MPI\.COMM_WORLD|^ray\.(?:init|remote)$"
    r"|^(?:horovod|hvd|colossalai|torch_xla|xm|bagua|oneflow|ignite\.distributed|idist|fairseq|megatron|composer|submitit|smdistributed"
    r"|neuronx_distributed|apex\.parallel|ray\.train)\."
)
"""Names of what libraries have to make a process group, start processes, or hand on those of a launcher."""
_JOIN: Final = ("monai.",)
"""Libraries whose trainers go on in the group that there is: MONAI 1.5.1 monai/engines/workflow.py:160 asks `dist.is_initialized()`."""
_OF_ONE_DEVICE: Final = frozenset({"mark_step", "xla_device", "wait_device_ops"})
"""What torch_xla has for the device of one process: diffusers' pipelines end each step in `xm.mark_step()` where it is installed."""
_TCP: Final = pattern(r"default\s*=\s*[\"']tcp://")
"""The default of the option that says where the processes meet."""
_NEEDS_GROUP: Final = frozenset(
    {"DDP", "DistributedDataParallel", "FSDP", "FullyShardedDataParallel", "fully_shard"}
)
"""What raises an error without a process group, where it stands under no condition."""
_SAMPLERS: Final = frozenset({"DistributedSampler"})
_NUMBERED: Final = pattern(VARIABLES)
_STARTS: Final = pattern(
    r"spawn\(|start_processes|torchrun|Process\(|[mM]ulti_?[pP]rocess|[dD]istributed_?[tT]est|_launcher\(|\blaunch\w*\(|torch\.distributed\.(?:run|launch)\b"
)
"""What a file of tests has that starts processes beside pytest's."""
_OF_TESTS: Final = pattern(r"(?:^|[._])(?:tests?|testing|mocks?|fixtures?|dummy)(?:[._]|$)")
"""Names of files that tests use: d2go 9d9f438 d2go/utils/testing/data_loader_helper.py, pi-zero-pytorch 42e1d7f
pi_zero_pytorch/mock.py."""
_SERVERS: Final = frozenset(
    {"gradio", "fastapi", "flask", "starlette", "streamlit", "aiohttp", "tornado", "sanic", "quart"}
)
_SERVES: Final = pattern(
    r"@\w+\.(?:get|post|put|route|websocket|api_route)\(|\.(?:click|submit|add_api_route|add_url_rule)\(|Interface\("
    r"|\bapp: FastAPI\b|uvicorn\.run\(|\bst\.\w+\("
)
"""What a file has that hands functions to a server, or is one: sd_dreambooth_extension 4244f6b scripts/main.py:1943,
`db_train_model.click(fn=wrap_gpu_call(start_training), …)`."""
_RUNS_SERVER: Final = pattern(r"uvicorn\.run|(?:app|server)\.run|web\.run_app")
_ANY_NUMBER: Final = pattern(
    r"(?:^|\.)(?:Accelerator|PartialState|AcceleratorState|Fabric|\w*Trainer|\w*TrainingArguments)(?:\.|$)"
)
"""Names of what makes a group of one, or none, in a process that no launcher has started."""
_ARGUMENTS: Final = "TrainingArguments"
"""The end of the names of classes whose objects make the group: `HfArgumentParser((DataArguments, TrainingArguments))`."""
_BY_NAME: Final = frozenset({"instantiate", "instantiate_from_config", "get_obj_from_str"})
"""Calls that find what they run by a name in a configuration: where the program makes ranks, it may be that."""
_TRAINS: Final = pattern(r"trainer|strategy|fabric|launch", re.IGNORECASE)
"""What a configuration calls that which makes ranks of itself: `instantiate(cfg.trainer)`."""


_DIVIDES: Final = pattern(
    r"(?i)Loader\(|Sampler\(|rank|process_ind|num_proc|main_process|world_size|(?<!torch\.)gather\((?!-?\d)|[._]reduce\(|split_between|shard"
    r"|\bprepare\((?:[^,()]*,|\s*\w*optim)|\.train\(\)|Trainer\("
)
"""What is done otherwise on several processes: data divided, gradients or results exchanged, one told from another.

What a model takes out of a tensor is none: PoseDiffusion b138198 pose_diffusion/models/gaussian_diffuser.py, `a.gather(-1, t)`
and einops' `reduce(loss, …)`.
"""
_DIVIDES_OF_RANKS: Final = pattern(
    r"(?i)Loader\(|Sampler\(|process_ind|main_process|is_(?:main|master)|barrier\(|broadcast|(?<!torch\.)gather\((?!-?\d)|[._]reduce\(|split_between|shard"
    r"|\.train\(\)|Trainer\(|backward\(|get_(?:world_size|rank)\(|(?<!local_)\brank *(?:[!=]=|[<>\]]|%(?![ds])|in\b|not in\b|::)|[\[:] *rank\b"
    r"|local_rank *(?:[!=]=|[<>]|in\b|not in\b)(?! *-1)|world_size *(?:[!=]=|[<>])|[%/*] *[\w.]*world_size"
)
"""The same where a program makes a process group, in which case it keeps the number of its process for its GPU."""


def entries_to(program: Program, module: Module, line: int) -> frozenset[Module] | None:
    """The entry points that lead to a line of a file by the names in them; None where others may.

    Others may where no entry point does: a registry or a configuration leads there, or whoever uses the library. What
    notebooks and tests try of a library is for others; what lies among the helpers of tests is theirs.
    """
    above = importers(program, module)
    entries = {each for each in above if _decides(program, each, module)}
    if entries == above == {module}:
        return frozenset(entries)
    if any(_offers(program, each, module, line) for each in above - entries):
        return None
    found = {each for each in entries if each is module or leads_to(program, each, module, line)}
    return frozenset(found) or None


def scripts_above(program: Program, module: Module, line: int) -> frozenset[Module]:
    """The entry points that lead to a line; those of which one must, where no names lead there: `getattr(models, name)`.

    None, where others may.
    """
    above = importers(program, module)
    entries = frozenset(each for each in above if _decides(program, each, module))
    if any(_offers(program, each, module, line) for each in above - entries):
        return frozenset()
    return entries_to(program, module, line) or entries


def _decides(program: Program, user: Module, module: Module) -> bool:
    """Whether what is started with a file decides who comes to another, which it imports."""
    if user.path.endswith(_NOTEBOOK):
        return user is module
    if is_of_tests(user):
        return user is module or _OF_TESTS.search(module.name) is not None
    if _is_server(user):
        return True
    return user.is_script or (importers_of_none(program, user) and _does_work(user))


@remembered
def _is_server(module: Module) -> bool:
    """Whether a file hands functions to a server of pages or requests: its one process runs them.

    Not a script that may do its work without, as llama-recipes multi_modal_infer.py, which has `--gradio_ui` for a page.
    """
    used = {target.partition(".")[0] for target in module.imports.values()}
    return (
        not used.isdisjoint(_SERVERS)
        and _SERVES.search(module.source.text) is not None
        and (not module.is_script or _always_serves(module))
    )


def _always_serves(module: Module) -> bool:
    """Whether a script ends in a server under no condition but that it is started.

    LTX-Video-Trainer 31b1273 scripts/app_gradio.py:982: `demo.launch(server_name="0.0.0.0", server_port=7860)` in `main`.
    """
    called = {last_name(node.func) for node in own_nodes(module.body, ast.Call)}
    return any(
        _serves(statement)
        and not any(
            isinstance(each, ast.If) and "__main__" not in ast.unparse(each.test) for each in around
        )
        for function in module.all_functions
        if function is module.body or function.name in called
        for statement, around in own_statements(function.body)
    )


def _serves(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="launch"), args=[])):
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return _RUNS_SERVER.fullmatch(dotted_name(func)) is not None
    return False


@remembered
def _does_work(module: Module) -> bool:
    """Whether a file does its work where it is run, as no library does when it is imported."""
    return not module.source.is_package and any(map(_is_work, module.source.tree.body))


def _is_work(statement: ast.stmt) -> bool:
    match statement:
        case ast.For() | ast.While() | ast.With():
            return True
        case ast.Assign(value=ast.Call(func=func)) | ast.Expr(value=ast.Call(func=func)):
            return last_name(func) in ("parse_args", "parse_known_args", "main")
    return False


def importers_of_none(program: Program, module: Module) -> bool:
    """Whether no other file of the program imports a file."""
    return importers(program, module) == {module}


class Shown(enum.Enum):
    """What code shows of the processes that it is started on."""

    RANKS = enum.auto()
    """It starts them, makes their group, or reads their numbers; or its text names a launcher."""
    ANY_NUMBER = enum.auto()
    """It has an Accelerator or a trainer, which works in one process, too."""


@remembered
def shown(program: Program, entry: Module) -> frozenset[Shown]:
    """What an entry point's text, and the code that it leads to, show of several processes.

    A server is one process, whatever it trains, unless something starts others.
    """
    if is_one_kernel(entry):
        return frozenset()
    text = entry.source.text
    if is_of_tests(entry):
        return frozenset({Shown.RANKS} if _STARTS.search(text) or MAKES_GROUP.search(text) else ())
    if entry.path.endswith(_NOTEBOOK) or is_numbered(text):
        return frozenset({Shown.RANKS})
    found = frozenset(each for part in led_to(program, entry) for each in _shown_by(program, *part))
    return found - {Shown.ANY_NUMBER} if _is_server(entry) else found


@remembered
def has_no_ranks(program: Program, entry: Module) -> bool:
    """Whether nothing in what an entry point leads to shows several processes, whoever starts it."""
    return not any(_shown_by(program, *part) for part in led_to(program, entry))


@remembered
def divides_nothing(program: Program, entry: Module) -> bool:
    """Whether what an entry point leads to trains nothing, goes through no loader, and tells no process from another.

    PoseDiffusion b138198 pose_diffusion/test.py has `accelerator.prepare(model)` left of the training: each of several
    processes would do all of the test. GC-DPR 79e1fe0 dense_retriever.py comes to `init_process_group()` and DDP in helpers
    of the training, and would have each process encode all questions.
    """
    divides = _DIVIDES_OF_RANKS if Shown.RANKS in shown(program, entry) else _DIVIDES
    return not any(
        divides.search(source_of(module, part)) for module, part in led_to(program, entry)
    )


@remembered
def led_to(program: Program, entry: Module) -> tuple[Part, ...]:
    """What an entry point runs, and what that names."""
    run: list[Part] = [
        (entry, each)
        for each in entry.source.tree.body
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        or each.decorator_list
        or is_of_tests(entry)
        or _is_server(entry)
    ]
    run += [(entry, each.node) for each in commands_of(entry)]
    for below in imported_below(program, entry) - {entry}:
        run += run_on_import(below)
    return tuple(named_from(program, run))


@remembered
def _offered(program: Program, module: Module) -> tuple[Part, ...]:
    """What whoever uses a file may call, and what that names."""
    return tuple(named_from(program, [(module, module.source.tree)]))


def _offers(program: Program, user: Module, module: Module, line: int) -> bool:
    """Whether a file that nothing imports, and that nothing starts, has functions for others that lead to a line."""
    return (
        importers_of_none(program, user)
        and not user.path.endswith(_NOTEBOOK)
        and not is_of_tests(user)
        and (user is module or _has(_offered(program, user), module, line))
    )


def leads_to(program: Program, entry: Module, module: Module, line: int) -> bool:
    """Whether names lead from an entry point to a line of a file."""
    return _has(led_to(program, entry), module, line)


def _has(parts: Iterable[Part], module: Module, line: int) -> bool:
    return any(
        of is module and part.lineno <= line <= (part.end_lineno or part.lineno)
        for of, part in parts
        if isinstance(part, ast.stmt)
    )


@remembered
def _shown_by(program: Program, module: Module, part: ast.AST) -> frozenset[Shown]:
    """What a part of a file shows of processes."""
    return frozenset(_signs(program, module, part))


def _signs(program: Program, module: Module, part: ast.AST) -> Iterator[Shown]:
    for node in walk(part, ast.Call, ast.Name, ast.Attribute, ast.ClassDef, ast.Subscript):
        match node:
            case ast.Call(func=func):
                if is_start(program, module, func) and not lacks_rank(module, node):
                    yield _start_of(program, module, func)
                elif _is_for_ranks(part, node):
                    yield Shown.RANKS
                elif last_name(func) in _BY_NAME:
                    if _TRAINS.search(ast.unparse(node)):
                        yield Shown.RANKS
                    else:
                        yield from _of_program(program)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name.endswith(_ARGUMENTS):
                yield Shown.ANY_NUMBER
            case ast.ClassDef(bases=bases):
                for base in bases:
                    if is_start(program, module, base):
                        yield _start_of(program, module, base)
            case ast.Subscript(slice=ast.Constant(value=str() as text), ctx=ast.Load()) if (
                _NUMBERED.fullmatch(text)
            ):
                yield Shown.RANKS


def _start_of(program: Program, module: Module, node: ast.expr) -> Shown:
    meaning = program.resolve_dotted(module, dotted_name(node))
    named = meaning if isinstance(meaning, str) else last_name(node)
    return Shown.ANY_NUMBER if _ANY_NUMBER.search(named) else Shown.RANKS


@remembered
def _of_program(program: Program) -> frozenset[Shown]:
    """What any file of a program shows that makes ranks, or names what does.

    stable-dreamfusion 5550b91: `instantiate_from_config` makes a model of ldm, and nothing in all files a process group.
    """
    return frozenset(
        each for module in program.modules.values() for each in _of_file(program, module)
    )


def _of_file(program: Program, module: Module) -> Iterator[Shown]:
    if names_launcher(module.source.text):
        yield Shown.RANKS
    for target in module.imports.values():
        if _OF_LIBRARIES.search(target):
            yield Shown.ANY_NUMBER if _ANY_NUMBER.search(target) else Shown.RANKS
    for node in walk(module.source.tree, ast.Call):
        if is_start(program, module, node.func):
            yield _start_of(program, module, node.func)


def _is_for_ranks(part: ast.AST, call: ast.Call) -> bool:
    """Whether a call wraps a model on each rank, whatever is asked above, or divides data by the number of one.

    yolov9 5b1ea9a val.py comes to `None if rank == -1 else DistributedSampler(dataset)` as train.py does. text2vec 8e90a0f
    text2vec/bge_model.py:207: `DistributedSampler(train_dataset, num_replicas=num_devices, rank=local_rank)`.
    """
    name = last_name(call.func)
    if name in _SAMPLERS:
        return any(keyword.arg == "rank" for keyword in call.keywords)
    return name in _NEEDS_GROUP and not any(
        each is call for outer in walk(part, ast.If, ast.IfExp) for each in walk(outer)
    )


def lacks_rank(module: Module, call: ast.Call) -> bool:
    """Whether a call asks for a process group at an address of TCP without this process's rank, which raises an error.

    torch 2.13.0 distributed/rendezvous.py: "rank parameter missing". Multicast, which needed none, went with torch 0.4:
    Efficient-AI-Backbones f90e129 versatile_filters/imagenet-vcnn.py:119, with `--dist-url` 'tcp://224.66.41.62:23456'.
    """
    given = {keyword.arg for keyword in call.keywords}
    return (
        last_name(call.func) == "init_process_group"
        and {"init_method", "world_size"} <= given
        and given.isdisjoint({"rank", "store", None})
        and _TCP.search(module.source.text) is not None
    )


def is_start(program: Program, module: Module, node: ast.expr) -> bool:
    """Whether an expression is what makes a process group; what the program defines is a part itself."""
    meaning = program.resolve_dotted(module, dotted_name(node))
    if isinstance(meaning, Function | Class):
        return False
    if MAKES_GROUP.search(last_name(node)):
        return True
    named = meaning if isinstance(meaning, str) else node.id if isinstance(node, ast.Name) else ""
    return (
        _OF_LIBRARIES.search(named) is not None
        and not named.startswith(_JOIN)
        and last_name(node) not in _OF_ONE_DEVICE
    )
