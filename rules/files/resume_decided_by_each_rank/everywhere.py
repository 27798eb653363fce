"""Checkpoints that every machine has, though it looks as if rank 0 alone wrote them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.filesystem import FileCall, asked_paths, names_a_part
from distlint.analysis.questions.paths import Parts, holds, parts_of
from distlint.knowledge.schema import Effect
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import CallGroup, Model
    from distlint.analysis.program.definitions import Function, Module

_PER_MACHINE: Final = pattern(
    r"rank(?:\(\))? % [\w.]*(?:per_node|gpus|devices|local)\w*(?:\(\))? == 0"
)
_ADDRESSES: Final = frozenset({"dist_url", "init_method"})
"""What the address is kept in at which ranks meet."""
_IN_A_FILE: Final = pattern(r"f?[\"']file://")
_SAVE_STATE: Final = "accelerate.Accelerator.save_state"
_WHOLE: Final = pattern(r"state_dict_type=[\"']full")


def is_first_of_machine(site: CallSite) -> bool:
    """Whether a condition in force has a name for what holds on one rank of each machine.

    RepVGG eae7c52 quantization/quant_qat_train.py:209: `is_main = … args.rank % ngpus_per_node == 0`.
    """
    return any(
        _PER_MACHINE.search(ast.unparse(value))
        for guard in site.guards
        if guard.taken and isinstance(guard.node, ast.Name)
        for value in assignments(site.function).get(guard.node.id, ())
    )


def is_sharded(module: Module) -> bool:
    """Whether Fabric writes a shard on each rank, as it does by default under FSDP: every machine has the folder.

    amber-train 64bc595 main_utils.py:79 (lightning 2.6.6 fabric/strategies/fsdp.py: `state_dict_type="sharded"`).
    """
    text = module.source.text
    return "FSDPStrategy" in text and _WHOLE.search(text) is None


def meets_in_a_file(model: Model, module: Module) -> bool:
    """Whether the program has its ranks meet through a file, and writes no other address: all machines share the disk it is on.

    MIL-NCE_HowTo100M b282b15 main_distributed.py:46: `args.dist_url = "file://{}.{}".format(…)`, else NotImplementedError.
    """
    texts = [
        ast.unparse(value)
        for each in linked(model.program, module)
        if "://" in each.source.text
        for function in (each.body, *each.all_functions)
        for value in _addresses(function)
    ]
    return bool(texts) and all(_IN_A_FILE.match(text) for text in texts)


def _addresses(function: Function) -> Iterator[ast.expr]:
    """What a function keeps as an address, and what it gives as one that is written out there."""
    for name, values in assignments(function).items():
        if name.rpartition(".")[2] in _ADDRESSES:
            yield from values
    for node in own_nodes(function, ast.keyword):
        match node:
            case ast.keyword(arg=str(name), value=ast.Constant() | ast.JoinedStr() as value):
                if name in _ADDRESSES:
                    yield value


def is_saved_by_all(model: Model, load: CallSite) -> bool:
    """Whether an Accelerator loads what all ranks save with it: each makes the folder and puts its random state there,
    so that every machine finds it, and the load of what rank 0 alone has written fails (accelerate 1.15.0
    accelerator.py, `save_state`: `os.makedirs(output_dir, exist_ok=True)`; checkpointing.py).

    hallo 8fd7c57 hallo/utils/util.py:805; rectified-flow 14b4925 rectified_flow/pipelines/train_ldit_imagenet256.py:628.
    """
    if load.method != "load_state" or load.callee is not None:
        return False
    saves = list(_saves_of_all(model, load))
    return bool(saves) and all({MAIN, OTHER} <= set(call.classes) for call in saves)


def asks_for_folder_of_all(model: Model, load: CallSite, asked: ast.expr) -> bool:
    """Whether the ranks ask for a folder by the name of one in which all of them have put their state.

    KG_LM f838f97 KG_LM/trainer.py:680: `checkpoint_dir / "latest_checkpoint"`, in front of the load of what rank 0 wrote
    beside it, which raises where that is missing.
    """
    names = {parts_of(path, load.function)[-1:] for path in asked_paths(asked)}
    made = (
        (call.site.argument_node(0, "output_dir"), call.site.function)
        for call in _saves_of_all(model, load)
        if {MAIN, OTHER} <= set(call.classes)
    )
    return any(
        isinstance(part, str) and (part,) in names
        for path, function in made
        if path is not None
        for part in parts_of(path, function)[-1:]
    )


def _saves_of_all(model: Model, load: CallSite) -> Iterator[CallGroup]:
    """The calls by which an Accelerator saves in the program of a load."""
    together = linked(model.program, load.module)
    for call in model.calls(".save_state", _SAVE_STATE):
        if call.site.module in together:
            yield call


def is_of_each_rank(load: CallSite, path: ast.expr | None) -> bool:
    """Whether what is loaded has the rank in its name: each rank has written its own, on its machine.

    cosmos-rl 89f2e5b cosmos_rl/utils/checkpoint.py:669: `f"extra_info_rank_{self.global_rank}.pth"`.
    """
    return path is not None and names_a_part(path, load.function)


def is_folder_of_all(
    model: Model, load: CallSite, asked: ast.expr, path: ast.expr | None, save: CallSite
) -> bool:
    """Whether the ranks ask for a folder that all of them make: it is on each machine, and the load of a file in it raises.

    Bagel 056b5fd train/fsdp_utils.py:96: `os.makedirs(save_path, exist_ok=True)`, and `load_file()` behind the question.
    """
    folders = [parts_of(each, load.function) for each in asked_paths(asked)]
    inside = parts_of(path, load.function) if path is not None else ()
    if not any(holds(folder, inside) and folder != inside for folder in folders):
        return False
    made = save.argument_node(1, "f") or save.argument_node(1, "filename")
    around = parts_of(made, save.function)[:-1] if made is not None else ()
    return bool(around) and any(
        found.effect is Effect.CREATE_DIR
        and found.function is save.function
        and found.path is not None
        and {MAIN, OTHER} <= found.ranks
        and parts_of(found.path, found.function) == around
        for found in model.file_calls
    )


def shares_a_disk(model: Model, load: CallSite) -> bool:
    """Whether ranks beside rank 0 open a file untested that rank 0 alone has written above: machines without a disk in
    common end there, before or in the place of a training that begins anew.

    litehandnet 0a799ee dist_train.py:118: without a checkpoint, rank 0 saves its first weights, and all load them.
    """
    together = linked(model.program, load.module)
    calls = [
        (found, parts_of(found.path, found.function))
        for found in model.file_calls
        if found.function.module in together and found.path is not None
    ]
    written = {
        (found.function, parts): found.site.node.lineno
        for found, parts in calls
        if parts and found.effect is Effect.WRITE and found.ranks == {MAIN}
    }
    return any(
        found.effect is Effect.READ
        and OTHER in found.ranks
        and found.site.node is not load.node
        and written.get((found.function, parts), float("inf")) < found.site.node.lineno
        and not _asks_for(found, parts)
        for found, parts in calls
    )


def _asks_for(found: FileCall, parts: Parts) -> bool:
    """Whether a condition in force at a call has asked for its path."""
    return any(
        parts_of(path, found.function) == parts
        for guard in found.site.guards
        for path in asked_paths(guard.node)
    )
