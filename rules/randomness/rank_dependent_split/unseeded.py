"""Shuffles in the constructors of data sets, and splits, before anything is seeded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name, last_name
from distlint.analysis.program.handed import calls_of, namings, reads
from distlint.analysis.program.linked import direct_importers, imported_below, importers, linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.analysis.questions.entered import is_named_nowhere
from distlint.analysis.questions.lightning import divided, fits
from distlint.analysis.questions.seeded_above import (
    names_seeding,
    never_seeded,
    seeds_by_command_line,
)
from distlint.analysis.questions.seeding import call_names_rank, is_helper
from distlint.analysis.questions.unset_options import is_settled
from distlint.knowledge import facts
from distlint.knowledge.shares import RANK_NAMES
from distlint.nodes import walk

from .dropped import is_dropped
from .on_demand import only_on_demand
from .parted import WORDS, drawn_splits
from .subsets import DRAWS, drawn_subsets
from .unordered import indexed, is_data_set, is_divided, prepares_data

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_SHUFFLES: Final = ("random.shuffle", "numpy.random.shuffle")
_DATA_SET: Final = "torch.utils.data.Dataset"
_SEED_LATER: Final = "transformers.Trainer"
_DIVIDES: Final = (
    "accelerate.Accelerator.prepare",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.utils.data.DistributedSampler",
    "deepspeed.initialize",
)
_SPLIT: Final = "train_test_split"
_BY_METHOD: Final = (_SPLIT, "shuffle", "select")
_RANDOM_SPLIT: Final = "torch.utils.data.random_split"
_SPLIT_SEEDS: Final = frozenset(
    {"seed", "random_state", "generator", "generators", "shuffle", None}
)
_SAMPLER: Final = "DistributedSampler"
_SEEDS: Final = {"python": "random.seed", "numpy": "numpy.random.seed"}
"""What takes a seed of the system's where it is given None."""


def unseeded_shuffles(model: Model, module: Module) -> Iterator[tuple[Module, ast.Call, ast.Call]]:
    """The shuffles of data sets of a script that first its Trainer seeds, each with its file, and where that is made.

    A Trainer seeds all ranks alike when it is made, and gives each rank its part of the indices. The classes of
    the data sets are in the script, or it makes objects of them (Qwen3-VL issue 1971).
    """
    if "rainer" not in module.source.text:
        return
    calls = [node for function in module.all_functions for node in walk(function.node, ast.Call)]
    trainers = [node for node in calls if _is_trainer(model, module, node)]
    if not trainers:
        return
    made = (model.resolve(module, node.func) for node in calls)
    shuffles = [
        (cls.module, node)
        for cls in dict.fromkeys([*module.all_classes, *(c for c in made if isinstance(c, Class))])
        if _DATA_SET in facts.with_bases(model.program.mro(cls)[1])
        and not _is_made_by_nobody(model, cls)
        for node in _shuffles(model, cls.methods.get("__init__"))
    ]
    if shuffles and not any(map(_seeds, linked(model.program, module))):
        yield from ((where, node, trainers[0]) for where, node in shuffles)


def shuffles_by_hand(model: Model, module: Module) -> Iterator[tuple[ast.Call, bool]]:
    """The shuffles of data sets that samplers made by hand divide, where nothing seeds their generator; whether a program is
    seen that makes such a set.

    `torch.manual_seed(seed)` seeds neither `random` nor NumPy (Latte b27c24a datasets/ffs_image_datasets.py:154).
    """
    if "shuffle" not in module.source.text or not _is_divided_by_index(model, module):
        return
    programs = _programs(model, module)
    for cls in module.all_classes:
        if is_data_set(model, cls) and (made := _is_made(model, cls)) is not None:
            kept = {path for path in indexed(cls) if not _gives_a_partner(cls, path)}
            for method, node in (
                (m, n) for m in _ordering(model, cls) for n in _shuffles(model, m)
            ):
                if not node.args or not _is_kept(method, node.args[0], kept):
                    continue
                stream = stream_of(model, module, node)
                if unseeds(model, method, node, stream) or not all(
                    any(seeds_stream(model, each, stream) for each in files) for files in programs
                ):
                    yield node, made


@remembered
def _programs(model: Model, module: Module) -> tuple[frozenset[Module], ...]:
    """The files of each script of several ranks that leads to a file; those around it, where none is seen to.

    What another script seeds is none of its own: FedMRI 65a396c train.py, on one GPU, beside train_multi_gpu.py:96, which adds the
    rank to its seeds.
    """
    scripts = sorted(
        (m for m in importers(model.program, module) if m.is_script), key=lambda m: m.path
    )
    found = tuple(imported_below(model.program, m) for m in scripts if has_ranks(model, m))
    return found or (linked(model.program, module),)


def _is_made(model: Model, cls: Class) -> bool | None:
    """Whether anything may make objects of a class in a program; None where only its file does, when it is run to try it.

    ControlNeXt ab4b3ac ControlNeXt-SVD-v2-Training/utils/dataset.py:134: the one call, below `if __name__ == "__main__":`. FedMRI
    65a396c data_ki/fastmri.py:190 is of a folder that no script imports; zwd-into-aurora's CombinedDataset is named nowhere. Of 13 such
    shuffles in methods that were judged at first sight, 3 were true.
    """
    named = namings(model.program, cls.name)
    if not named.others and named.calls and all(f is cls.module.body for f, _ in named.calls):
        return None
    modules = model.program.modules.values()
    users = direct_importers(model.program)
    return any(
        each.is_script or not (users[each] or each.source.is_package or each is cls.module)
        for each in importers(model.program, cls.module)
    ) and (
        bool(cls.node.decorator_list)
        or any(
            namings(model.program, each.name) != ((), False)
            or any(f"{each.name}{quote}" in m.source.text for m in modules for quote in ("'", '"'))
            for each in (cls, *model.program.subclasses(cls))
        )
    )


@remembered
def _is_made_by_nobody(model: Model, cls: Class) -> bool:
    """Whether a class is named in functions alone that nothing names, beside its own methods.

    KVTP b634abb llava/train/train_siglip.py:1396: `LazySupervisedDataset(…)` of another script, to which `train()` here does
    not come.
    """
    named = [
        function
        for module in model.program.modules.values()
        for function, node in reads(module).get(cls.name, ())
        if function.cls is not cls and model.resolve(module, node) is cls
    ]
    return bool(named) and all(
        function.module.is_script and is_named_nowhere(model.program, function)
        for function in named
    )


def _has_samplers(model: Model, module: Module) -> bool:
    """Whether the files around a file divide data by index."""
    return any(_SAMPLER in each.source.text for each in linked(model.program, module))


@remembered
def _is_divided_by_index(model: Model, module: Module) -> bool:
    """Whether the files around a file have a sampler divide data, accelerate's `prepare()`, or a Trainer of Lightning.

    UniAnimate-DiT 884ac92 examples/unianimate_wan/train_unianimate_wan.py:1069: `devices="auto"`, and a plain loader.
    """
    around = linked(model.program, module)
    return (
        _has_samplers(model, module)
        or any("ccelerat" in each.source.text and prepares_data(each) for each in around)
        or any(
            any(divided(model, site))
            for function, sites in model.answer(fits).items()
            if function.module in around
            for site in sites
        )
    )


def unseeded_subsets(model: Model, module: Module) -> Iterator[ast.Call]:
    """The draws by which each rank keeps samples of its own, where nothing seeds them alike before the ranks divide these."""
    for function, node in drawn_subsets(model, module):
        if not (_has_samplers(model, module) or has_ranks(model, module)) and not _is_used_on_ranks(
            model, function
        ):
            continue
        stream = stream_of(model, module, node)
        if (
            unseeds(model, function, node, stream)
            or not any(seeds_stream(model, each, stream) for each in linked(model.program, module))
            or never_seeded(model, function, node, stream)
        ):
            yield node


def unseeds(model: Model, function: Function, draw: ast.Call, stream: str) -> bool:
    """Whether the last seed above a draw in its function is none, or the rank's own: the process then draws for itself.

    PytorchOCR d1584fd torchocr/data/simple_dataset.py:72: `random.seed(self.seed)`, of a parameter whose default None no
    call replaces.
    """
    if stream not in _SEEDS:
        return False
    above = [
        node
        for node in own_nodes(function, ast.Call)
        if node.lineno < draw.lineno and model.resolve(function.module, node.func) == _SEEDS[stream]
    ]
    last = max(above, key=lambda node: node.lineno, default=None)
    return last is not None and (
        not last.args or _is_no_common_seed(model, function, last.args[0], last.lineno)
    )


def _is_no_common_seed(model: Model, function: Function, seed: ast.expr, line: int) -> bool:
    """Whether a seed is None, which stands for one of the system's, or has the rank in it, in each way to it."""
    match seed:
        case ast.Constant(value=value):
            return value is None
        case ast.IfExp(body=body, orelse=orelse):
            return all(_is_no_common_seed(model, function, arm, line) for arm in (body, orelse))
        case ast.Name(id=name) if name not in function.parameters:
            above = [v for v in assignments(function).get(name, ()) if v.lineno < line]
            return bool(above) and all(
                not isinstance(v, ast.Name) and _is_no_common_seed(model, function, v, line)
                for v in above
            )
        case ast.BinOp():
            return mentions_rank(seed)
    return is_settled(model.program, function, seed, None)


def seeds_stream(model: Model, module: Module, stream: str) -> bool:
    """Whether anything in a file may seed a generator alike on all ranks, by the name of what it calls.

    What a function does that is there to seed is said by its calls: Uni-Perceiver a8c9e37 uniperceiver/engine/defaults.py:276
    hands `seed_all_rng` None, or the seed with the rank added; in a loader's workers it is called with their number.
    """
    if seeds_by_command_line(model, module):
        return True
    for function in module.all_functions:
        if is_helper(function) and calls_of(model.program, function):
            continue
        for node in own_nodes(function, ast.Call):
            if names_seeding(node.func):
                if call_names_rank(node) or "worker" in ast.unparse(node):
                    continue
                if _is_given_rank(function, node) or _is_of_generator(model, function, node):
                    continue
                if only_on_demand(model, function, node):
                    continue
                meaning = model.resolve(module, node.func)
                owner = meaning.partition(".")[0] if isinstance(meaning, str) else ""
                # Generators of their own are methods of an unknown object: `generator.manual_seed(0)`.
                if owner in ("random", "numpy", "torch"):
                    if owner == ("random" if stream == "python" else stream):
                        return True
                elif last_name(node.func) != "manual_seed":
                    return True
    return False


def _is_given_rank(function: Function, call: ast.Call) -> bool:
    """Whether what seeds is given a variable that has the rank in it, wherever it comes from.

    FedMRI 65a396c train_multi_gpu.py:129: `seed = args.SEED + get_rank()`.
    """
    values = [
        value
        for given in call.args
        if isinstance(given, ast.Name)
        for value in assignments(function).get(given.id, ())
    ]
    return bool(values) and all(_has_rank(value) for value in values)


def _has_rank(value: ast.expr) -> bool:
    return mentions_rank(value) or any(
        last_name(call) in RANK_NAMES for call in walk(value, ast.Call)
    )


def _is_of_generator(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether a call seeds a generator that the function was handed or its object keeps, itself or in a function of the program.

    FedMRI 65a396c data/subsample.py:17: `rng.seed(seed)`.
    """
    match call.func:
        case ast.Attribute(attr="seed", value=owner):
            root = dotted_name(owner).partition(".")[0]
            return root == "self" or root in function.parameters
    meaning = model.resolve(function.module, call.func)
    if not isinstance(meaning, Function):
        return False
    seeding = [n for n in own_nodes(meaning, ast.Call) if names_seeding(n.func)]
    return bool(seeding) and all(
        isinstance(n.func, ast.Attribute) and _is_of_generator(model, meaning, n) for n in seeding
    )


def unseeded_splits(model: Model, module: Module) -> Iterator[ast.Call]:
    """The splits and shuffles that each rank makes by itself, where nothing seeds before them.

    scikit-learn and datasets draw from NumPy's global generator, `random_split` from torch's: each process starts
    both with a number of its own (torch 2.13.0 aten/src/ATen/CPUGeneratorImpl.cpp: `getNonDeterministicRandom`;
    datasets 5.2.0 datasets/arrow_dataset.py:4951 and 5179).
    """
    found: list[tuple[Function, ast.Call, str]] = []
    if any(word in module.source.text for word in _BY_METHOD) and has_ranks(model, module):
        for call in model.calls(*(f".{word}" for word in _BY_METHOD), module=module):
            if not call.guarded_by_rank and _is_unseeded(model, module, call.site):
                found.append((call.site.function, call.site.node, "numpy"))
    if any(word in module.source.text for word in WORDS):
        found += (
            (function, node, stream_of(model, module, node))
            for function, node in drawn_splits(model, module)
            if has_ranks(model, module) or _is_used_on_ranks(model, function)
        )
    if "random_split" in module.source.text and is_divided(model, module):
        found += (
            (function, node, "torch")
            for function, node in _torch_splits(model, module)
            if model.is_distributed(module) or _is_used_on_ranks(model, function)
        )
    seeded = bool(found) and any(map(_seeds, linked(model.program, module)))
    for function, node, stream in found:
        if (not seeded or never_seeded(model, function, node, stream)) and not is_dropped(
            model, function, node
        ):
            yield node


def stream_of(model: Model, module: Module, node: ast.Call) -> str:
    """Which generator a call of `random`, NumPy or torch draws from."""
    owner = str(model.resolve(module, node.func)).partition(".")[0]
    return "python" if owner == "random" else owner


def _is_used_on_ranks(model: Model, function: Function) -> bool:
    """Whether a function that parts data hands the parts to one in whose file ranks divide what they get.

    MockingBird 28dc5e1 models/vocoder/hifigan/meldataset.py:45, which train.py beside it calls on each rank.
    """
    return any(
        model.resolve(user.module, call.func) is function and has_ranks(model, user.module)
        for user, call in calls_of(model.program, function)
    )


def _torch_splits(model: Model, module: Module) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of `random_split` without a generator; a function that does nothing else is not followed."""
    for function in module.all_functions:
        nodes = own_nodes(function)
        if any(isinstance(node, ast.If) and mentions_rank(node.test) for node in nodes):
            continue
        for node in nodes:
            if (
                isinstance(node, ast.Call)
                and model.resolve(module, node.func) == _RANDOM_SPLIT
                and len(node.args) < 3
                and not any(keyword.arg in ("generator", None) for keyword in node.keywords)
            ):
                yield function, node


def _is_overwritten(site: CallSite) -> bool:
    """Whether both parts of a split are replaced right below: it was made for the dictionary that it gives.

    RWKV-infctx-trainer 70d02c4 RWKV-v5/src/data.py:1405: of two rows of nothing.
    """
    match site.statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            replaced = {
                target.slice.value
                for node in own_nodes(site.function, ast.Assign)
                if node.lineno > site.node.lineno
                for target in node.targets
                if isinstance(target, ast.Subscript)
                and isinstance(target.slice, ast.Constant)
                and ast.unparse(target.value) == name
            }
            return {"train", "test"} <= replaced
    return False


def _is_unseeded(model: Model, module: Module, site: CallSite) -> bool:
    """Whether a call of a library's method draws from a generator that started in a state of the process's own."""
    if (
        _is_overwritten(site)
        or site.callee is not None
        or any(_seeded_by(keyword) for keyword in site.node.keywords)
    ):
        return False
    if any(node.lineno < site.node.lineno for node in _trainers_in(model, site.function)):
        return False  # the Trainer has seeded the ranks alike
    if site.method == _SPLIT:
        return True
    if site.method == "select":
        return any(
            isinstance(node, ast.Call)
            and model.resolve(module, node.func) in DRAWS | {"random.choices"}
            for argument in (*site.node.args, *(k.value for k in site.node.keywords))
            for node in walk(argument)
        )
    # A stream is shuffled in a buffer, and by a method that takes its size; `random.shuffle` takes a list.
    return _of_datasets(module) and not site.node.args and "buffer_size" not in site.keywords


def _seeded_by(keyword: ast.keyword) -> bool:
    match keyword:
        case ast.keyword(arg="shuffle", value=ast.Constant(value=True)):
            return False
        case ast.keyword(value=ast.Constant(value=None)):
            return False
    return keyword.arg in _SPLIT_SEEDS


def _of_datasets(module: Module) -> bool:
    """Whether a file uses Hugging Face's datasets."""
    return any(name.partition(".")[0] == "datasets" for name in module.imports.values())


def has_ranks(model: Model, module: Module) -> bool:
    """Whether several ranks divide data in a file: a Trainer does so where the file is started on several."""
    if any(True for _ in model.calls(*_DIVIDES, module=module)):
        return True
    return (
        "rainer" in module.source.text
        and model.starts_several(module)
        and makes_trainer(model, module)
    )


def _trainers_in(model: Model, function: Function) -> list[ast.Call]:
    """The Trainers that a function makes."""
    if "rainer" not in function.module.source.text:
        return []
    return [
        node for node in own_nodes(function, ast.Call) if _is_trainer(model, function.module, node)
    ]


def makes_trainer(model: Model, module: Module) -> bool:
    """Whether a file makes a Trainer."""
    return any(_trainers_in(model, function) for function in module.all_functions)


def _is_trainer(model: Model, module: Module, node: ast.Call) -> bool:
    meaning = model.resolve(module, node.func)
    if isinstance(meaning, Class):
        return _SEED_LATER in facts.with_bases(model.program.mro(meaning)[1])
    return isinstance(meaning, str) and _SEED_LATER in facts.with_bases([meaning])


def _shuffles(model: Model, made: Function | None) -> Iterator[ast.Call]:
    if made is None:
        return
    for node in walk(made.node):
        meaning = model.resolve(made.module, node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(meaning, str) and meaning in _SHUFFLES:
            yield node


def _ordering(model: Model, cls: Class) -> Iterator[Function]:
    """The constructor of a data set, and its methods that it or one who makes a sampler below has run.

    TTS e9e0784 TTS/bin/train_glow_tts.py:67: `dataset.sort_items()`, `sampler = DistributedSampler(dataset)`.
    """
    made = cls.methods.get("__init__")
    if made is not None:
        yield made
    for name, method in cls.methods.items():
        if name.startswith("__") or "shuffle" not in ast.unparse(method.node):
            continue
        if (made is not None and _line_of(made, f"self.{name}")) or any(
            0 < _line_of(function, f".{name}") < _line_of(function, _SAMPLER)
            for module in linked(model.program, cls.module)
            if name in module.source.text and _SAMPLER in module.source.text
            for function in module.all_functions
        ):
            yield method


def _line_of(function: Function, name: str) -> int:
    """The first line on which a function calls something whose name ends so; 0 where it does not."""
    return min(
        (
            node.lineno
            for node in own_nodes(function, ast.Call)
            if ast.unparse(node.func).endswith(name)
        ),
        default=0,
    )


def _gives_a_partner(cls: Class, path: str) -> bool:
    """Whether what a list holds at an index comes beside another sample, which is found by the index itself.

    TTS e9e0784 TTS/vocoder/datasets/gan_dataset.py:64: `self.load_item(idx)`, and one for the discriminator.
    """
    for method in cls.methods.values():
        indices = {
            node.slice.id
            for node in own_nodes(method, ast.Subscript)
            if isinstance(node.slice, ast.Name)
            and node.slice.id in method.parameters
            and ast.unparse(node.value) == path
        }
        if any(
            any(isinstance(arg, ast.Name) and arg.id in indices for arg in node.args)
            for node in own_nodes(method, ast.Call)
        ):
            return True
    return False


def _is_kept(method: Function, shuffled: ast.expr, kept: set[str]) -> bool:
    """Whether what is shuffled is in some attributes, or is put into one by way of variables."""
    names, known = {ast.unparse(shuffled)}, 0
    while known < len(names):
        known = len(names)
        for node in own_nodes(method, ast.Assign):
            if any(
                ast.unparse(part) in names for part in walk(node.value, ast.Name, ast.Attribute)
            ):
                names |= {
                    ast.unparse(each.value if isinstance(each, ast.Subscript) else each)
                    for each in node.targets
                }
    return not kept.isdisjoint(names)


def _seeds(module: Module) -> bool:
    """Whether anything in a file may seed, by the name of what it calls."""
    return any(names_seeding(node.func) for node in walk(module.source.tree, ast.Call))
