"""Training that a Trainer of Lightning runs on several ranks: what starts it, and how the Trainer is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Definition, Function, dotted_name
from distlint.analysis.program.syntax import assignments, default_of, own_nodes
from distlint.knowledge.conventions import DEVICES, STARTS_RANKS
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

TRAINER: Final = "lightning.pytorch.Trainer"
SETUP_LOADERS: Final = "lightning.fabric.Fabric.setup_dataloaders"
SEED_EVERYTHING: Final = frozenset(
    {"lightning.fabric.seed_everything", "lightning.fabric.Fabric.seed_everything"}
)
"""What keeps its seed for the samplers that Lightning makes."""
_OF_COMMAND_LINE: Final = f"{TRAINER}.from_argparse_args"
_FROM_OUTSIDE: Final = frozenset({"from_argparse_args", "instantiate"})
"""What makes a Trainer of options or of a configuration, which tell it of devices."""
_LOADER: Final = "torch.utils.data.DataLoader"
_LOADERS: Final = frozenset({"train_dataloaders", "train_dataloader", "datamodule"})
"""Arguments of `fit` that hold the loader of the training, or what makes it; the second by position."""
_OWN_SHARES: Final = ("use_distributed_sampler", "replace_sampler_ddp")
_SAMPLES: Final = frozenset({"sampler", "batch_sampler"})
_VALIDATED: Final = "limit_val_batches"
"""How much of the validation's data a Trainer takes (pytorch-lightning 2.6.6 trainer/trainer.py): with 0, no hook of it runs."""
_OF_OPTIONS: Final = ".from_argparse_args"
_DEPTH: Final = 3
_PASSES_ON: Final = pattern(r"deepspeed|fsdp|fully_?sharded|single_device|auto$", re.IGNORECASE)
"""Names of strategies whose wrapper hands attributes on to the module, or that has none."""


@dataclass(frozen=True, slots=True, eq=False)
class Loader:
    """A loader of a whole data set that `fit` divides between the ranks.

    `shuffles` is False where its order is fixed, None where that is not known; `names` are those by which the
    function that calls `fit` knows the loader.
    """

    node: ast.Call
    shuffles: bool | None
    names: tuple[str, ...]


def fits(live: LiveProgram) -> dict[Function, list[CallSite]]:
    """The calls of `fit` that train on several ranks, by the function they stand in."""
    found: dict[Function, list[CallSite]] = {}
    for call in live.calls(".fit"):
        made = makers(call.site)
        known = call.site.name == f"{TRAINER}.fit" or _of_command_line(live, call.site, made)
        if known and _is_for_several(made):
            found.setdefault(call.site.function, []).append(call.site)
    return found


def passes_on(live: LiveProgram) -> bool:
    """Whether the program names strategies, and each of them wraps by a class that hands attributes on.

    RWKV-infctx-trainer 70d02c4 RWKV-v5/lightning_trainer.py:280: `trainer_defaults={"strategy":
    "deepspeed_stage_2_offload"}`, and the data module reads `trainer.model.ctx_len` from the engine.
    """
    named = [
        name
        for module in live.program.modules.values()
        if "strategy" in module.source.text
        for function in (module.body, *module.all_functions)
        for node in own_nodes(function)
        for name in _strategies(node)
    ]
    return any(name != "auto" for name in named) and all(map(_PASSES_ON.search, named))


def _strategies(node: ast.AST) -> Iterator[str]:
    """The strategies that a call or a table of options names, by text or class."""
    match node:
        case ast.Call(keywords=keywords):
            given: list[ast.expr] = [k.value for k in keywords if k.arg == "strategy"]
        case ast.Dict(keys=keys, values=values):
            given = [
                value
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant) and key.value == "strategy"
            ]
        case _:
            return
    for value in given:
        match value:
            case ast.Constant(value=str(name)):
                yield name
            case ast.Call(func=made):
                yield last_name(made)


def _of_command_line(live: LiveProgram, fit: CallSite, made: list[ast.Call]) -> bool:
    """Whether `Trainer.from_argparse_args()` makes the Trainer.

    Only up to pytorch-lightning 1.9.5: of what such a Trainer does besides, much differs between versions.
    """
    return any(live.resolve(fit.module, call.func) == _OF_COMMAND_LINE for call in made)


def makers(fit: CallSite) -> list[ast.Call]:
    """The calls of the same function that make the Trainer whose `fit` is called."""
    owner = fit.node.func.value if isinstance(fit.node.func, ast.Attribute) else None
    if owner is None:
        return []
    values = [owner, *assignments(fit.function).get(dotted_name(owner), ())]
    return [v for v in values if isinstance(v, ast.Call)]


def divided(live: LiveProgram, fit: CallSite) -> Iterator[Loader]:
    """The loaders that are handed to `fit`, or that its modules make, and whose samples it divides.

    It puts a DistributedSampler in the place of their sampler (pytorch-lightning 2.6.6
    pytorch_lightning/trainer/connectors/data_connector.py:211), as `setup_dataloaders` of Fabric does
    (lightning_fabric/fabric.py:449).
    """
    # By text: what `**` hands over is put together anywhere.
    if any(word in fit.module.source.text for word in _OWN_SHARES):
        return
    for name, value in given_to(fit):
        names = (name,) if name else ()
        for call, shuffles in _made_by(live, fit.function, value, {}, _DEPTH):
            yield Loader(call, shuffles, names)


def given_to(fit: CallSite) -> Iterator[tuple[str, ast.expr]]:
    """What `fit` is handed that may make loaders: its name where it has one, and each value that it may be."""
    given = [*fit.node.args, *(k.value for k in fit.node.keywords if k.arg in _LOADERS)]
    if fit.name != SETUP_LOADERS:
        given = [*fit.node.args[:2], *given[len(fit.node.args) :]]
    for node in given:
        name = dotted_name(node)
        for value in assignments(fit.function).get(name, [node]):
            yield name, value


def leaves_data_whole(module: Module) -> bool:
    """Whether a file makes Trainers, and none that divides data: each rank goes over what its loaders have.

    PRIMER 5acb5aa script/compared_model_main.py:485: `replace_sampler_ddp=False`, the name up to 1.9.5.
    """
    if not any(word in module.source.text for word in _OWN_SHARES):
        return False
    made = _trainers(module)
    return bool(made) and all(
        any(
            each.arg in _OWN_SHARES
            and isinstance(each.value, ast.Constant)
            and each.value.value is False
            for each in call.keywords
        )
        for call in made
    )


def trains_on_one(module: Module) -> bool:
    """Whether a file makes Trainers, and each for one device: nni 767ed7f examples/compression/evaluator/
    lightning_evaluator.py:78, `pl.Trainer(accelerator="auto", devices=1)`."""
    made = _trainers(module)
    return bool(made) and all(any(_is_of_one(call, k) for k in call.keywords) for call in made)


def is_trained_on_one(program: Program, cls: Class) -> bool:
    """Whether each Trainer of the files that have a LightningModule is for one device.

    rnnt_whisper_small_vi 5fe2a73 run.py:47: `devices=1`, and the module is that of train.py.
    """
    made = _trainers_of(program, cls)
    return bool(made) and all(any(_is_of_one(call, k) for k in call.keywords) for call in made)


def _trainers_of(program: Program, cls: Class) -> list[ast.Call]:
    """The Trainers that are made in files which have a LightningModule, or one that derives from it."""
    kin = {cls, *program.subclasses(cls)}
    return [
        call
        for module in program.modules.values()
        for call in _trainers(module)
        if any(program.resolve_dotted(module, name) in kin for name in module.imports)
        or module in {each.module for each in kin}
    ]


def never_validates(program: Program, cls: Class) -> bool:
    """Whether each Trainer of the files that have a LightningModule is told to leave the validation out.

    OmniTokenizer 701b619 vqgan_train.py:150: `Trainer.from_argparse_args(args, limit_val_batches=0, …)`.
    """
    made = _trainers_of(program, cls)
    return bool(made) and all(
        any(
            each.arg == _VALIDATED
            and isinstance(each.value, ast.Constant)
            and each.value.value in (0, False)
            for each in call.keywords
        )
        for call in made
    )


def _trainers(module: Module) -> list[ast.Call]:
    """The calls of a file that make a Trainer."""
    if "Trainer" not in module.source.text:
        return []
    return [
        node
        for node in walk(module.source.tree, ast.Call)
        if dotted_name(node.func).removesuffix(_OF_OPTIONS).rpartition(".")[2] == "Trainer"
    ]


def _made_by(
    live: LiveProgram, user: Function, node: ast.expr, known: dict[str, bool | None], depth: int
) -> Iterator[tuple[ast.Call, bool | None]]:
    """The loaders that a call makes, itself or in the function or class that it calls."""
    if not isinstance(node, ast.Call) or not depth:
        return
    meaning = _meaning(live, user, node.func)
    makers: list[Function] = []
    if meaning == _LOADER:
        given = {k.arg: k.value for k in node.keywords}
        if _SAMPLES.isdisjoint(given):
            yield node, _truth(given.get("shuffle", ast.Constant(False)), known)
    elif isinstance(meaning, Class):
        method = live.program.find_method(meaning, "train_dataloader")
        makers = [] if method is None else [method]
        known = {}
    elif isinstance(meaning, Function):
        makers = [meaning]
        known = _bound(meaning, node, known)
    for maker in makers:
        for inner in own_nodes(maker, ast.Call):
            yield from _made_by(live, maker, inner, known, depth - 1)


def _meaning(live: LiveProgram, user: Function, called: ast.expr) -> Definition | None:
    """What a call calls; a method of its own object as well."""
    match called:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if user.cls is not None:
            return live.program.find_method(user.cls, name)
    return live.resolve(user.module, called)


def _bound(
    function: Function, call: ast.Call, known: dict[str, bool | None]
) -> dict[str, bool | None]:
    """What is true and what is false of a function's parameters in one call."""
    given: dict[str, ast.expr | None] = {
        name: default_of(function, name) for name in function.parameters
    }
    own = [p for p in function.parameters if p != "self"]
    given.update(zip(own, call.args, strict=False))
    given.update({k.arg: k.value for k in call.keywords if k.arg is not None})
    return {name: _truth(value, known) for name, value in given.items() if value is not None}


def _truth(node: ast.expr, known: dict[str, bool | None]) -> bool | None:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id=name):
            return known.get(name)
    return None


def _is_for_several(made: list[ast.Call]) -> bool:
    """Whether a Trainer is made for several ranks: it is told of devices, and not of one.

    Without a word of them an example runs on whatever there is (pytorch-lightning 2.6.6
    accelerator_connector.py:419, `devices="auto"`): a launch on many that nobody has thought of.
    """
    return not made or any(
        last_name(call) in _FROM_OUTSIDE
        or (
            any(k.arg is None or k.arg in STARTS_RANKS for k in call.keywords)
            and not any(_is_of_one(call, k) for k in call.keywords)
        )
        for call in made
    )


def is_on_one_device(site: CallSite) -> bool:
    """Whether a method of a Trainer is called that its function makes for one device, told of no number of nodes: one rank.

    MixSort a078f5b MixViT/segmentation/evalutation.py:22: `pl.Trainer(gpus=1)`, and `validate()` in a `try`.
    """
    made = makers(site) if site.name.startswith(f"{TRAINER}.") else []
    return bool(made) and all(
        last_name(call) not in _FROM_OUTSIDE
        and all(k.arg is not None for k in call.keywords)
        and any(_is_of_one(call, k) for k in call.keywords)
        for call in made
    )


def _is_of_one(call: ast.Call, keyword: ast.keyword) -> bool:
    """Whether an argument leaves one device, on one node."""
    match keyword.value:
        case ast.Constant(value="cpu" | "mps"):
            return keyword.arg == "accelerator"
        case ast.Constant(value=value):
            one = value in (0, 1, "0", "1", None) and value is not True
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            one = len(elements) == 1
        case _:
            return False
    return one and keyword.arg in DEVICES and all(k.arg != "num_nodes" for k in call.keywords)
