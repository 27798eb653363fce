"""What all ranks have to build alike after a seed: sharded models, seedable samplers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.options import options_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.copies import DDP, left_apart
from distlint.analysis.questions.lightning import SEED_EVERYTHING, SETUP_LOADERS, divided, fits
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.questions.seeding import Seed

_FSDP1: Final = "torch.distributed.fsdp.FullyShardedDataParallel"
_FSDP2: Final = "torch.distributed.fsdp.fully_shard"
_MAKES: Final = pattern(r"_?from_config$|create_(?!optim|sched|load|data|loss)\w+$|build_model$")
"""Names of functions that build models from random numbers."""
_LOADING: Final = ("load", "resume", "restore", "checkpoint", "broadcast")
_APART: Final = "Seed all ranks alike here, and apart from each other with `torch.manual_seed(seed + rank)` below"
_APART_IN_FIT: Final = (
    "Seed all ranks alike, and apart from each other in `on_train_start` of the module, "
    "`torch.manual_seed(seed + self.global_rank)`"
)
_SHUFFLED_APART: Final = (
    "accelerate's seedable sampler takes its seed from that: the ranks shuffle differently, and "
    "their shards repeat samples and leave others out"
)
_DDP_HANDLER: Final = "DistributedDataParallelKwargs"


@dataclass(frozen=True, slots=True, eq=False)
class Hazard:
    """Something built after a seed: a clause for messages, and where it is wrapped or prepared."""

    text: str
    place: str
    node: ast.AST
    statement: ast.stmt | None
    """The last statement that wraps or prepares in the seed's own block; None where there is none."""
    wraps: bool = True
    """Whether the program itself wraps or prepares, rather than a trainer."""
    advice: str = ""
    """What to do, where that is another thing than elsewhere."""


def shared_after(live: LiveProgram, seed: Seed) -> Hazard | None:
    """What the ranks must build alike below a seed, in the same function; None where there is nothing."""
    function = seed.site.function
    summaries = live.summaries_of(function)
    if summaries is None:
        return None
    sites: dict[int, CallSite] = {}
    for _, summary in summaries.summaries():
        for site in summary.calls:
            sites.setdefault(id(site.node), site)
    ordered = sorted(sites.values(), key=lambda s: (s.node.lineno, s.node.col_offset))
    after = [s for s in ordered if s.node.lineno > seed.site.node.lineno]
    for hazard in (
        _sharded(function, ordered, after, seed),
        _seedable(ordered, after, seed),
        _seedable_later(ordered, seed),
        _trainer(ordered, after, seed),
        _fitted(live, after, seed),
        _copied(live, function, after, seed),
    ):
        if hazard is not None:
            return hazard
    return None


def last_wrap(function: Function, after: list[CallSite], top: ast.stmt) -> ast.stmt | None:
    """The last statement of the seed's block, or of the function, that wraps or prepares."""
    wraps = [s for s in after if facts.wrapper(s.name) is not None and not s.loops]
    block = function.body
    for site in reversed(wraps):
        for index, statement in enumerate(block):
            own = statement is site.statement and not isinstance(statement, ast.Return)
            if own or _wraps_under_a_test(statement, ast.unparse(site.node.func)):
                return _with_those_below(block[index:], ast.unparse(site.node.func))
    return None


def _with_those_below(block: list[ast.stmt], wrapper: str) -> ast.stmt:
    """The last of the statements that wrap one more model each under a test, right below the first."""
    last, *below = block
    for statement in below:
        if not _wraps_under_a_test(statement, wrapper):
            break
        last = statement
    return last


def _wraps_under_a_test(statement: ast.stmt, wrapper: str) -> bool:
    """Whether an `if` does nothing but to wrap one model more: vits2_pytorch 1f4f379 train.py:223."""
    return (
        isinstance(statement, ast.If)
        and any(_is_call_of(each, wrapper) for each in statement.body)
        and all(
            _is_call_of(each, wrapper) or _only_names(each)
            for each in (*statement.body, *statement.orelse)
        )
    )


def _is_call_of(statement: ast.stmt, wrapper: str) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == wrapper
    )


def _only_names(statement: ast.stmt) -> bool:
    """Whether a statement gives something a second name: deit 7e160fe main.py:346, `model.module` behind the wrap."""
    return (
        isinstance(statement, ast.Assign)
        and dotted_name(statement.value) != ""
        and all(isinstance(target, ast.Name) for target in statement.targets)
    )


def _sharded(
    function: Function, sites: list[CallSite], after: list[CallSite], seed: Seed
) -> Hazard | None:
    if any(_loads(site) for site in after):
        return None
    for site in after:
        fact = facts.wrapper(site.name)
        if fact is None:
            continue
        text, certain = _shards(site, sites)
        if not text:
            continue
        positions = (
            range(len(site.node.args)) if fact.each_argument else (fact.model_position or 0,)
        )
        nodes = [site.argument_node(p, "" if fact.each_argument else "module") for p in positions]
        for node in nodes:
            built = _built_below(function, node, seed)
            if built is not None:
                return Hazard(
                    f"`{ast.unparse(built)}` below draws its weights from that: {text}",
                    "sharded here" if certain else "prepared here",
                    site.node,
                    last_wrap(function, after, seed.site.statement),
                )
    return None


def _shards(site: CallSite, sites: list[CallSite]) -> tuple[str, bool]:
    """What goes wrong when a call wraps models that differ, and whether it surely shards; "" for neither."""
    if site.name == _FSDP1:
        synced = site.keywords.get("sync_module_states")
        if synced is not None and synced.truthiness() is not False:
            return "", False
        return "FSDP glues shards of different models together, without an error", True
    if site.name == _FSDP2:
        return "FSDP glues shards of different models together, without an error", True
    if site.name.startswith("accelerate.Accelerator.prepare"):
        names = {s.method for s in sites}
        plugins = [s for s in sites if s.method == "FullyShardedDataParallelPlugin"]
        if _DDP_HANDLER in names or "DeepSpeedPlugin" in names:
            return "", False
        for plugin in plugins:
            for keyword in ("sync_module_states", "cpu_ram_efficient_loading"):
                given = plugin.keywords.get(keyword)
                if given is not None and given.truthiness() is not False:
                    return "", False
        glued = "glues shards of different models together, without an error"
        if plugins:
            return f"FSDP {glued}", True
        return f"launched with FSDP, `prepare()` {glued} (under DDP rank 0's weights win)", False
    return "", False


def _loads(site: CallSite) -> bool:
    """Weights that are replaced after the initialisation: what was drawn does not matter."""
    name = site.method.lower()
    return any(word in name for word in _LOADING) and not name.endswith(
        ("loader", "load_dataset", "dataloader", "loaders", "checkpoint_wrapper", "load_data")
    )


def _built_below(function: Function, node: ast.expr | None, seed: Seed) -> ast.expr | None:
    """The call that builds a model from random numbers below the seed, and above where it is wrapped."""
    if node is None:
        return None
    if isinstance(node, ast.Call):
        return _constructor(function, node, seed)
    if not isinstance(node, ast.Name):
        return None
    values = [
        v for v in assignments(function).get(node.id, []) if v.lineno < node.lineno or v is node
    ]
    made = [v for v in values if isinstance(v, ast.Call) and not _goes_on(v, node.id)]
    found = [_constructor(function, v, seed) for v in made]
    return found[0] if found and None not in found else None


def _goes_on(call: ast.Call, name: str) -> bool:
    """Whether a call is given what a variable held before: it moves, wraps or changes a model that is there."""
    return any(n.id == name for n in walk(call, ast.Name))


def _constructor(maker: Function, call: ast.Call, seed: Seed) -> ast.expr | None:
    if call.lineno <= seed.site.node.lineno:
        return None
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in ("to", "cuda", "train", "eval"):
        inner = function.value
        return _constructor(maker, inner, seed) if isinstance(inner, ast.Call) else None
    name = dotted_name(function)
    last = name.rpartition(".")[2]
    built = last[:1].isupper() or _MAKES.match(last) is not None or _is_of_table(function)
    weightless = last.endswith(
        ("Optimizer", "Loader", "Dataset", "Scheduler", "LR", "Adam", "AdamW", "SGD")
    )
    given = [
        *(k.value for k in call.keywords if k.arg == "pretrained"),
        *(a for a in call.args if last_name(a) == "pretrained"),
    ]
    loaded = any(not _is_off(maker.module, each) for each in given)
    return function if built and not weightless and not loaded else None


def _is_of_table(made: ast.expr) -> bool:
    """Whether a class is picked by its name: `models.__dict__[args.model]`."""
    match made:
        case ast.Subscript(value=ast.Attribute(attr="__dict__")):
            return True
    return False


def _is_off(module: Module, flag: ast.expr) -> bool:
    """Whether a flag is off where nobody says otherwise: an option of the file that stores what is true."""
    match flag:
        case ast.Constant(value=value):
            return not value
        case ast.Attribute(attr=name):
            return any(
                option.name == name
                and (
                    ast.unparse(option.given.get("action", flag)) == "'store_true'"
                    or (isinstance(option.default, ast.Constant) and not option.default.value)
                )
                for option in options_of(module)
            )
    return False


def _seedable(sites: list[CallSite], after: list[CallSite], seed: Seed) -> Hazard | None:
    prepared = [s for s in after if s.name.startswith("accelerate.Accelerator.prepare")]
    if not _asks_for_seedable(sites) or not prepared:
        return None
    return Hazard(
        _SHUFFLED_APART,
        "the loader is prepared here",
        prepared[0].node,
        last_wrap(seed.site.function, after, seed.site.statement),
    )


def _asks_for_seedable(sites: list[CallSite]) -> bool:
    return any(
        (given := s.keywords.get("use_seedable_sampler")) is not None
        and given.truthiness() is True
        and "data_seed" not in s.keywords
        for s in sites
    )


def _seedable_later(sites: list[CallSite], seed: Seed) -> Hazard | None:
    """The same where a constructor seeds, and another method of its class has the loader prepared.

    OpenLRM 3108b69 openlrm/runners/train/base_trainer.py:76 seeds, and `prepare_everything()` prepares.
    """
    function = seed.site.function
    if function.cls is None or function.name != "__init__" or not _asks_for_seedable(sites):
        return None
    for method in function.cls.methods.values():
        for node in own_nodes(method, ast.Call):
            if (
                last_name(node.func) in ("prepare", "prepare_data_loader")
                and dotted_name(node.func).startswith("self.")
                and any("load" in last_name(given).lower() for given in node.args)
            ):
                place = "the loader is prepared here"
                return Hazard(_SHUFFLED_APART, place, node, None)
    return None


def _trainer(sites: list[CallSite], after: list[CallSite], seed: Seed) -> Hazard | None:
    """A seed between the construction of a Trainer, which seeds all ranks alike, and its `train()`."""
    for site in after:
        type_ = site.receiver.type if site.receiver is not None else None
        if site.method != "train" or type_ is None or seed.site.loops:
            continue
        if "transformers.Trainer" not in set(facts.with_bases([type_])):
            continue
        built = [s for s in sites if s.result is not None and s.result.type == type_]
        if any(s.node.lineno < seed.site.node.lineno for s in built):
            return Hazard(
                "`train()` below builds its loader, whose seedable sampler takes its seed from that: "
                "the ranks shuffle differently, and their shards repeat samples and leave others out",
                "the loader is built here",
                site.node,
                None,
                wraps=False,
            )
    return None


def _fitted(live: LiveProgram, after: list[CallSite], seed: Seed) -> Hazard | None:
    """A seed that Lightning hands on to the sampler which it puts into a loader that shuffles."""
    if seed.site.name not in SEED_EVERYTHING:
        return None
    for site in after:
        if site.name != SETUP_LOADERS and site not in live.answer(fits).get(site.function, ()):
            continue
        if any(d.shuffles is not False for d in divided(live, site)):
            return Hazard(
                f"`{site.method}()` below gives that to the DistributedSampler of the loader: the ranks "
                "shuffle differently, and their shards repeat samples and leave others out",
                "the sampler is made here",
                site.node,
                None,
                wraps=False,
                advice=_APART if site.name == SETUP_LOADERS else _APART_IN_FIT,
            )
    return None


def _copied(
    live: LiveProgram, function: Function, after: list[CallSite], seed: Seed
) -> Hazard | None:
    """A copy of the model in front of DDP, which sends rank 0's weights to the model and not to the copy."""
    for site in after:
        copy = left_apart(live, function, site) if site.name == DDP else None
        built = _built_below(function, site.argument_node(0, "module"), seed) if copy else None
        if copy is None or built is None:
            continue
        # Under `if args.resume` the weights may be drawn all the same.
        replaced = [s for s in after if _loads(s) and not s.guards]
        if all(s.node.lineno > copy.made.lineno for s in replaced):
            return Hazard(
                f"`{ast.unparse(built)}` below draws its weights from that: DDP sends those of rank 0 to all, but "
                f"not to the copy `{copy.name}`, which the ranks evaluate together",
                "copied here",
                copy.made,
                None,
                wraps=False,
                advice=f"Make `{copy.name}` after the model is wrapped, from its `.module`",
            )
    return None
