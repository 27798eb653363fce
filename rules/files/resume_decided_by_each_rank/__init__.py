"""Each rank looks on its own disk whether there is a checkpoint to go on from.

## What it does
Finds the resuming of a training that hangs on a test of the file system (`os.path.isfile(path)`) or on a listing
(`glob`, `os.listdir`) which every rank makes for itself, in a program whose rank 0 alone writes the checkpoints.

## Why it is bad
Machines that do not share a disk give different answers: the ranks beside rank 0 go on from the checkpoint,
those of the other machines begin with step 0. They train different weights, which nothing makes equal again, or
leave the loop after different numbers of steps, and the job hangs at its end.

## Example
```python
if os.path.isfile(path):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    start_epoch = checkpoint["epoch"]
```

## Use instead
```python
if any_rank(os.path.isfile(path)):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    start_epoch = checkpoint["epoch"]
```
A rank without the file then fails, and says which file, before anything is trained.

## Fix safety
Shown only: which rank's answer counts is for people to say.

## Known limits
Information only where rank 0 alone makes the folder (to list it fails on the other machines), and where all launches that
are shown are of one machine, or by submitit, whose machines share a folder.
Silent where a test that fails raises (above, or in all callers, too) or comes to an assertion about the path, where it leaves the folder itself, or what was
asked for, or None, to a load below that then raises, where another checkpoint of the folder
is loaded untested above, where another path is written out right above, in functions that only evaluate, below the loop that trains where nothing is trained afterwards, on the checkpoints of DeepSpeed's engine (in a method that loads them, too), where an entry of the listing is taken and an empty one raises, where all machines get a file (the first rank of each writes, or each rank its shard) or the folder that is asked for, where several
machines cannot meet (a group on `localhost`, in all scripts that lead to the load) or meet through a file, on a disk that
all of them share (`file://`, and no other address), or open untested what rank 0 alone has just written, where no write makes a file of the name
that is written out here, where rank 0's answer is sent to the others, and where only weights are
loaded (of what epoch they are is only printed), above the line that wraps the model in DDP, whose constructor sends rank 0's to all.

## References
- facebookresearch/moco-v3, main_moco.py, line 237: behind the wrap
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN, OTHER
from distlint.analysis.live.modes import never_both
from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.handed import argument_of, calls_of
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.analysis.questions.contents import is_settings
from distlint.analysis.questions.entered import is_never_named
from distlint.analysis.questions.filesystem import asked_paths
from distlint.analysis.questions.leftover import is_left_over
from distlint.analysis.questions.machines import on_one_machine
from distlint.analysis.questions.paths import Parts, may_be_named, parts_of
from distlint.analysis.questions.reported import evaluates
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

from .everywhere import (
    asks_for_folder_of_all,
    is_first_of_machine,
    is_folder_of_all,
    is_of_each_rank,
    is_saved_by_all,
    is_sharded,
    meets_in_a_file,
    shares_a_disk,
)
from .looking import looked_for
from .missing import behind_the_training, only_evaluates
from .taking import fails_when_empty, loaded_before
from .weights import PROGRESS, names_progress, only_told, sent_by_the_wrap

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import CallGroup
    from distlint.analysis.program.definitions import Module

CODE = "DL309"
NAME = "resume-decided-by-each-rank"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (b"mp.spawn(",)  # whoever spawns a function says on how many machines it runs

_LOADS: Final = {"torch.load", "lightning.fabric.Fabric.load"}
_LOAD_METHODS: Final = {"load_state", "load_checkpoint"}
_SAVES: Final = {"torch.save", "safetensors.torch.save_file"}
_COPIES: Final = frozenset(
    {"copy", "copy2", "copyfile", "move", "rename", "replace", "link", "symlink", "symlink_to"}
)
"""Calls by which a file comes about under another name."""
_OTHER_SAVES: Final = frozenset(
    {"save_for_backward", "save_hyperparameters", "savefig", "savetxt", "save_image"}
)
"""Calls that write no checkpoint."""
_WRAPS: Final = {"DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "initialize"}
_ENGINE_WORDS: Final = ("model", "engine")
_LOADER: Final = pattern(r"load|resume|restore")
_RAISING: Final = frozenset({"listdir", "scandir"})
_RANK_0: Final = pattern(r"(?<!local_)\brank(?:\(\))? == 0|\bis_main")


def check(model: Model) -> Iterator[Finding]:
    """Each test or listing by which the ranks decide for themselves where a training goes on."""
    saves, everywhere = _saves_of_main(model)
    if not saves:
        return
    seen: set[int] = set()
    for call in model.calls():
        if not _loads(call) or not _by_several(model, call) or not _resumes(call):
            continue
        if call.site.module in everywhere:
            continue
        if call.site.name in _LOADS and sent_by_the_wrap(model, call.site):
            continue
        if only_evaluates(call.site.function) or behind_the_training(model, call.site):
            continue
        argument = _path_of(call.site)
        asked = looked_for(model, call.site, argument)
        if asked is None or fails_when_empty(model, call.site.function, asked):
            continue
        if loaded_before(model, call.site.function, asked):
            continue
        if _is_of_engine(call.site) and not _names_latest(asked):
            continue
        save = _of_program(model, call.site, argument, saves)
        if (
            save is None
            or _of_another_mode(call.site, asked, saves)
            or is_folder_of_all(model, call.site, asked, argument, save)
            or is_saved_by_all(model, call.site)
            or asks_for_folder_of_all(model, call.site, asked)
            or is_of_each_rank(call.site, argument)
            or on_one_machine(model, call.site.function)
            or meets_in_a_file(model, call.site.module)
            or shares_a_disk(model, call.site)
        ):
            continue
        if id(asked) not in seen:
            seen.add(id(asked))
            finding = _finding(
                call.site.module, asked, call.site, save, _fails(model, asked, call.site)
            )
            if model.shares_a_disk(call.site.module):
                finding = replace(finding, severity=Severity.INFO)
            yield finding


def _finding(
    module: Module, asked: ast.expr, load: CallSite, save: CallSite, fails: bool
) -> Finding:
    if fails:
        advice = "Put the folder on a disk that all machines share"
        what = (
            "rank 0 alone makes the folder that every rank lists here for a checkpoint: where the machines share no "
            "disk, the ranks of the others fail, since it is missing"
        )
    else:
        advice = "Let all ranks take rank 0's answer, and fail where the file is missing"
        what = (
            "every rank looks on the disk of its machine for the checkpoint that rank 0 alone writes: where the "
            "machines share no disk, some ranks go on from it, and the others begin anew, with other weights or "
            "another number of steps"
        )
    return Finding(
        CODE,
        NAME,
        Severity.INFO if fails else SEVERITY,
        f"{what}. {advice}.",
        place_of(module, asked),
        (
            related(load.module, load.node, "loaded where it was found"),
            related(save.module, save.node, "rank 0 alone writes"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _of_program(
    model: Model, load: CallSite, path: ast.expr | None, saves: list[CallSite]
) -> CallSite | None:
    """The write of what is loaded, by the name of the file; else the first of the file itself, or of one of the files
    that go with it. None for those of other programs, and where no write of the program makes a file of that name."""
    together = linked(model.program, load.module)
    name = parts_of(path, load.function)[-1:] if path is not None else ()
    match name:
        case (str() as last,) if not _is_made(model, last, together):
            return None
    own = [save for save in saves if save.module is load.module]
    if not own:
        return next((save for save in saves if save.module in together), None)
    own = [save for save in own if not never_both(load, save)]
    named = [save for save in own if name and _written(save) == name]
    if named and path is not None:
        folder = parts_of(path, load.function)[-2:-1]
        named = [save for save in named if _may_lie_in(model, save, folder)]
        return named[0] if named else None
    return own[0] if own else None


def _may_lie_in(model: Model, save: CallSite, folder: Parts) -> bool:
    """Whether a file is written to a folder of a name, which callers may hand on; of what has no name nothing is known.

    CodeBERT c0de43d CodeReviewer/code/run_finetune_msg.py:153 looks into "checkpoints-last", and `save_model` is handed
    "checkpoints-last-" with a number behind it.
    """
    path = save.argument_node(1, "f") or save.argument_node(1, "filename")
    match folder, parts_of(path, save.function)[-2:-1] if path is not None else ():
        case (str() as wanted,), (str() as written,):
            return wanted == written
        case (str() as wanted,), (("parameter", int(), str() as name),):
            calls = calls_of(model.program, save.function)
            given = [(caller, argument_of(call, save.function, name)) for caller, call in calls]
            return not given or any(
                each is None or may_be_named(each, caller, wanted) for caller, each in given
            )
    return True


def _of_another_mode(load: CallSite, asked: ast.expr, saves: list[CallSite]) -> bool:
    """Whether rank 0 writes what is looked for only in runs that do not come to the load."""
    names = [parts_of(path, load.function)[-1:] for path in asked_paths(asked)]
    makers = [save for save in saves if _written(save) in names]
    return bool(makers) and all(never_both(load, save) for save in makers)


def _is_made(model: Model, name: str, modules: frozenset[Module]) -> bool:
    """Whether some write or copy of a program may make a file of a name.

    ULIP f194ddb main.py:160 looks for "checkpoint.pt", and what is written is "{}/checkpoint_{}.pt".
    """
    return any(
        _may_make(model, function, node, name)
        for module in modules
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
    )


def _may_make(model: Model, function: Function, call: ast.Call, name: str) -> bool:
    method = last_name(call.func)
    copies = method in _COPIES and bool(call.args)  # a copy of nothing is an array's
    if not copies and (not method.startswith("save") or method in _OTHER_SAVES):
        return False
    meaning = model.resolve(function.module, call.func)
    if isinstance(meaning, Function):
        return False  # what it calls itself is asked
    given = list(call.args)
    if meaning in _SAVES:
        given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "f")]
    return not given or any(
        isinstance(each, ast.Starred) or may_be_named(each, function, name) for each in given
    )


def _written(save: CallSite) -> Parts:
    """The name of the file that a write makes: `torch.save(state, path)`."""
    path = save.argument_node(1, "f") or save.argument_node(1, "filename")
    return parts_of(path, save.function)[-1:] if path is not None else ()


def _fails(model: Model, asked: ast.expr, load: CallSite) -> bool:
    """Whether a listing raises on the other machines, for rank 0 alone makes the folder.

    ImageReward c1392c6 ImageReward/ReFL.py:677: `os.listdir(args.output_dir)`, made under `is_main_process`.
    """
    above = (node for node in own_nodes(load.function, ast.Call))
    lists = isinstance(asked, ast.Call) and last_name(asked.func) in _RAISING
    calls = [asked] if isinstance(asked, ast.Call) and lists else list(above)
    listed = {
        ast.unparse(call.args[0])
        for call in calls
        if last_name(call.func) in _RAISING and call.args and call.lineno < load.node.lineno
    }
    makers = [found for found in model.file_calls if found.effect is Effect.CREATE_DIR]
    here = [m for m in makers if m.text in listed and m.site.module is load.module]
    if not here:
        # Ask-Anything 4dd8210 video_chat/utils/config_utils.py:35: `output_dir = config.output_dir`, in another file.
        together = linked(model.program, load.module)
        fields = {text.rpartition(".")[2] for text in listed if "." in text}
        here = [
            m for m in makers if m.text.rpartition(".")[2] in fields and m.site.module in together
        ]
    return bool(here) and all(found.ranks == {MAIN} for found in here)


def _saves_of_main(model: Model) -> tuple[list[CallSite], set[Module]]:
    """The calls by which rank 0 alone writes a checkpoint, none where others write one too; and the files in which the
    first rank of each machine writes one."""
    found: list[CallSite] = []
    everywhere: set[Module] = set()
    for call in model.calls():
        site = call.site
        if site.name == "lightning.fabric.Fabric.save":
            if not is_sharded(site.module):
                found.append(site)
        elif site.method == "save_state" and call.classes == {MAIN}:
            found.append(site)
        elif site.name in _SAVES:
            if NODE_MAIN in call.classes and OTHER not in call.classes:
                return [], set()  # the first rank of each machine: each machine has the file
            # MeZO 39c1c74 medium_models/run.py:1026: `torch.save(model_args, …)`, from which nothing goes on.
            saved = site.argument_node(0, "obj")
            if call.classes == {MAIN} and not (saved is not None and is_settings(saved)):
                found.append(site)
        elif site.callee is not None and _saves(site.callee) and _is_for_main(site):
            if is_first_of_machine(site):
                everywhere.add(site.module)
            else:
                found.append(site)
        elif any(
            row.effect is Effect.GUARDED_WRITE and row.writers == "main" and "save" in site.method
            for row in site.rows
        ):
            found.append(site)
    # Ask-Anything 4dd8210 video_chat/dataset/utils.py:165: results, by a function that came along and is never called.
    # WeakTr 3457ad3 utils.py:232: `save_on_master`, in a file that others use.
    return [
        s
        for s in found
        if not is_left_over(model, s.module, s.node.lineno)
        and not is_never_named(model.program, s.function)
    ], everywhere


def _is_for_main(site: CallSite) -> bool:
    """Whether a condition in force names rank 0, in words too: `not args.distributed or args.rank == 0`."""
    return any(guard.taken and _RANK_0.search(ast.unparse(guard.node)) for guard in site.guards)


@remembered
def _saves(function: Function) -> bool:
    return any(ast.unparse(node.func) == "torch.save" for node in own_nodes(function, ast.Call))


def _loads(call: CallGroup) -> bool:
    """Whether a call loads a checkpoint, itself or in the function of the program that it calls."""
    site = call.site
    if site.name in _LOADS or (site.method in _LOAD_METHODS and site.callee is None):
        return True
    callee = site.callee
    return callee is not None and _LOADER.search(callee.name) is not None and _is_loader(callee)


def _is_loader(function: Function) -> bool:
    """Whether a function loads from a path among its parameters."""
    return bool(_paths_among(function)) and any(
        node.args and last_name(node.func) in ("load", *_LOAD_METHODS)
        for node in own_nodes(function, ast.Call)
    )


def _paths_among(function: Function) -> set[str]:
    """The parameters of a function that are the path from which it loads."""
    return {
        part.id
        for node in own_nodes(function, ast.Call)
        if node.args and last_name(node.func) in ("load", "open", *_LOAD_METHODS)
        for part in walk(node.args[0], ast.Name)
        if part.id in function.parameters
    }


def _path_of(site: CallSite) -> ast.expr | None:
    """The argument that is the path: of a function of the program, what it loads from.

    StyleTTS2 5cedc71 train_first.py:153: `load_checkpoint(model, optimizer, path)`, and the model's parts were listed.
    """
    callee = site.callee
    if callee is not None:
        paths = sorted(_paths_among(callee), key=callee.parameters.index)
        given = (argument_of(site.node, callee, name) for name in paths)
        found = next((argument for argument in given if argument is not None), None)
        if found is not None:
            return found
    return site.node.args[0] if site.node.args else None


def _is_of_engine(site: CallSite) -> bool:
    """Whether DeepSpeed's engine loads, whose checkpoint every rank has a part of: each machine has the folder.

    FunASR 3c58cb5 funasr/train_utils/trainer_ds.py:476: beside it `torch.save` on rank 0, of the runs without DeepSpeed.
    MARTI a2fe2c7 marti/trainer/ray/ppo_actor.py:497: `strategy.load_ckpt(model, path)`, a method for engines.
    """
    if site.callee is not None:
        return "deepspeed" in site.callee.module.source.text and any(
            map(_is_load_of_engine, own_nodes(site.callee))
        )
    given = site.receiver
    return _is_load_of_engine(site.node) or (
        site.method == "load_checkpoint"
        and given is not None
        and any(w.kind == "deepspeed" for w in given.wraps)
    )


def _is_load_of_engine(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="load_checkpoint")):
            return any(word in last_name(owner).lower() for word in _ENGINE_WORDS)
    return False


def _names_latest(asked: ast.expr) -> bool:
    """Whether a question is for the file in which rank 0 alone notes the engine's newest checkpoint.

    DCNv4 4b848f7 classification/main_deepspeed.py:365; deepspeed 0.19.8 deepspeed/runtime/engine.py, `save_checkpoint`.
    """
    return any(part.value == "latest" for part in walk(asked, ast.Constant))


def _by_several(model: Model, call: CallGroup) -> bool:
    """Whether rank 0 and others are known to load together."""
    if MAIN not in call.classes or OTHER not in call.classes:
        return False
    if model.joint_entry_at(call) is not None:
        return True
    return any(
        other.site.method in _WRAPS and other.site.function is call.site.function
        for other in model.calls(module=call.site.module)
    )


def _resumes(call: CallGroup) -> bool:
    """Whether what is loaded says where a training goes on: no weights alone, and nothing for an evaluation."""
    site = call.site
    if evaluates(site.function):
        return False
    if site.method == "load_state" or site.name.endswith("Fabric.load"):
        return True
    if site.callee is not None and any(map(names_progress, own_nodes(site.callee))):
        return True
    if isinstance(site.statement, ast.Assign):
        names = {n for target in site.statement.targets for n in target_names(target)}
        if any(not PROGRESS.isdisjoint(name.split("_")) for name in names):
            return True
    end = _next_load(site)
    return any(
        site.node.lineno <= node.lineno < end and names_progress(node)
        for node in own_nodes(site.function)
        if isinstance(node, ast.expr) and node not in only_told(site.function)
    )


def _next_load(site: CallSite) -> float:
    """The line below a load in which the same function loads something else."""
    path = [ast.unparse(node) for node in site.node.args[:1]]
    loads, name = ast.unparse(site.node.func), last_name(site.node.func)
    return min(
        (
            node.lineno
            for node in own_nodes(site.function, ast.Call)
            if node.lineno > site.node.lineno
            and last_name(node.func) == name
            and ast.unparse(node.func) == loads
            and [ast.unparse(each) for each in node.args[:1]] != path
        ),
        default=float("inf"),
    )
