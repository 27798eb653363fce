"""Calls that seed random number generators, as the ranks make them, and what is drawn from these."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, default_of, literals, own_nodes
from distlint.analysis.questions.refused_options import DISTRIBUTED
from distlint.knowledge import randomness
from distlint.knowledge.assumed import WORLD_SIZES
from distlint.knowledge.randomness import Draw, Seeding
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Module

_HELPER: Final = pattern(
    r"_*(?:seed(?:s|ing)?(?:_|$)"
    r"|(?:set|fix|init|setup|make|manual|control|configure|ensure|enable|random)\w*"
    r"(?:[sS]eeds?|[sS]eed_\w+|determin\w+|reproduc\w+)$)"
)
"""Names of functions that do nothing but seed: their calls are the seedings."""
_WORKER_START: Final = "worker_init_fn"
"""What a loader's argument is called that its workers run first."""
_WEIGHTS: Final = frozenset({"weight", "bias", "data", "param", "parameter", "embedding"})
"""Parts of names of what is filled with random numbers once, before the training."""
_DRAWS_FROM: Final = {"torch": ("torch", "cuda"), "numpy": ("numpy",), "python": ("python",)}


@dataclass(frozen=True, slots=True, eq=False)
class Seed:
    """A call that seeds the global generators of a process.

    `value` is the expression of the seed, without a rank that is added to it (None where it is
    unknown); `per_rank` says whether the ranks get different ones; `streams` are those of
    `knowledge.randomness.Seeding`.
    """

    call: CallGroup
    value: ast.expr | None
    per_rank: bool
    streams: tuple[str, ...]

    @property
    def site(self) -> CallSite:
        """The site of the first class of ranks."""
        return self.call.site


def seeds(live: LiveProgram, module: Module) -> Iterator[Seed]:
    """The calls of a file that seed global generators, in source order.

    A function that does nothing but seed, by its name, stands for what it does: its calls count.
    """
    for call in live.calls(module=module):
        site = call.site
        if is_helper(site.function):
            continue
        row = _row(site)
        if row is not None:
            if row.streams != ("generator",):
                yield _direct(call, row)
        elif site.callee is not None and is_helper(site.callee):
            found = _through(live, call, site.callee)
            if found is not None:
                yield found


def is_helper(function: Function) -> bool:
    """Whether a function is there to seed, by its name."""
    return not function.is_module_body and _HELPER.match(function.name) is not None


def draw_of(site: CallSite) -> Draw | None:
    """What a call draws from a global stream; None where it draws nothing or has its own generator."""
    row = randomness.DRAWS.get(site.name)
    if row is None and site.name.startswith(".") and not fills_weights(site.node):
        row = randomness.DRAW_METHODS.get(site.method)
    if row is None:
        return None
    if row.generator:
        given = site.keywords.get(row.generator)
        if given is not None and not (given.known and given.const is None):
            return None
    return row


def fills_weights(draw: ast.Call) -> bool:
    """Whether an in-place draw gives a model its first weights, which all ranks want alike.

    DeepSpeedExamples training/BingBertGlue/nvidia/modeling.py:705: `module.weight.data.normal_(…)`.
    """
    owner = draw.func.value if isinstance(draw.func, ast.Attribute) else None
    return owner is not None and not _WEIGHTS.isdisjoint(dotted_name(owner).split("."))


def draws_by_syntax(live: LiveProgram, function: Function) -> Iterator[tuple[ast.Call, Draw]]:
    """What a function draws from global streams, where it has nothing to do with ranks itself.

    Such a function is not followed: its calls are known by name only.
    """
    return iter(_draws_by_syntax(live, function))


@remembered
def _draws_by_syntax(live: LiveProgram, function: Function) -> tuple[tuple[ast.Call, Draw], ...]:
    return tuple(_draws_in(live, function))


def _draws_in(live: LiveProgram, function: Function) -> Iterator[tuple[ast.Call, Draw]]:
    for node in walk(function.node, ast.Call):
        meaning = live.resolve(function.module, node.func)
        row = randomness.DRAWS.get(meaning) if isinstance(meaning, str) else None
        if row is None and meaning is None and isinstance(node.func, ast.Attribute):
            row = None if fills_weights(node) else randomness.DRAW_METHODS.get(node.func.attr)
        if row is not None and not any(
            k.arg == row.generator and not isinstance(k.value, ast.Constant) for k in node.keywords
        ):
            yield node, row


def names_rank(seed: Seed) -> bool:
    """Whether a rank is named in what seeds, though it is not known to be one.

    denoising-diffusion-gan 6818ded train_ddgan.py:195: `torch.manual_seed(args.seed + rank)`, a parameter that
    `Process(target=init_processes, args=(rank, …, train))` gives.
    """
    return call_names_rank(seed.site.node)


def call_names_rank(call: ast.Call) -> bool:
    """Whether a rank is named in what a call is given."""
    return any(map(_names_rank, (*call.args, *(k.value for k in call.keywords))))


def samples_alone(function: Function, draw: ast.AST) -> bool:
    """Whether a draw stands under `inference_mode`, where nothing trains; noise for a training is made under `no_grad`, too.

    SLAM-LLM a68e78f examples/s2s/utils/third_party/Matcha-TTS/matcha/models/components/flow_matching.py:51.
    """
    return any("inference_mode" in ast.unparse(each) for each in function.decorators) or any(
        any("inference_mode" in ast.unparse(item.context_expr) for item in node.items)
        and any(inner is draw for inner in walk(node))
        for node in walk(function.node, ast.With)
    )


def sets_state(function: Function, draw: ast.AST) -> bool:
    """Whether what is drawn is what the ranks have to have alike: a change of the weights, or a first value."""
    return moves_weights(function, draw) or fills_once(function, draw)


def fills_once(function: Function, draw: ast.AST) -> bool:
    """Whether what is drawn is the first value of an attribute: each way there asks for the attribute first.

    lightly e8d317f lightly/models/modules/memory_bank.py:154: `self.bank = torch.randn(size)…`, in a method that
    `forward()` calls under `if self.bank.ndim == 1`.
    """
    if function.cls is None:
        return False
    kept = {
        ast.unparse(target)
        for node in own_nodes(function, ast.Assign)
        if any(inner is draw for inner in walk(node.value))
        for target in node.targets
    }
    kept = {path for path in kept if path.startswith("self.")}
    if not kept:
        return False
    if _asked_above(function, draw, kept):
        return True
    calls = [
        (method, node)
        for method in function.cls.methods.values()
        if method.name != "__init__"
        for node in own_nodes(method, ast.Call)
        if ast.unparse(node.func) == f"self.{function.name}"
    ]
    return bool(calls) and all(_asked_above(method, node, kept) for method, node in calls)


def _asked_above(function: Function, node: ast.AST, paths: set[str]) -> bool:
    """Whether a node stands in the arm of a condition that asks about an attribute: `if self.bank is None`."""
    return any(
        any(inner is node for statement in test.body for inner in walk(statement))
        and any(
            ast.unparse(part) in paths
            or (
                isinstance(part, ast.Call)
                and last_name(part) == "hasattr"
                and any(path.endswith(f".{_text(part.args[-1])}") for path in paths)
            )
            for part in walk(test.test, ast.Attribute, ast.Call)
        )
        for test in own_nodes(function, ast.If)
    )


def _text(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def moves_weights(function: Function, draw: ast.AST) -> bool:
    """Whether what is drawn is added to parameters themselves, or makes them: each rank has to have its copy alike.

    perception_models 3e352cc core/vision_encoder/pe.py:390: `nn.Parameter(init_scale * torch.randn(self.width))`, in a
    method that the constructor calls, and again what loads a checkpoint. MeZO 552cb1b medium_models/src/trainer.py:245: `z = torch.normal(…)`, `param.data = param.data + scale * z`.
    """
    names = {
        ast.unparse(target)
        for node in own_nodes(function, ast.Assign)
        if any(inner is draw for inner in walk(node.value))
        for target in node.targets
    }
    for node in own_nodes(function, ast.Assign, ast.AugAssign, ast.Call):
        match node:
            case (
                ast.Assign(targets=[ast.Attribute(attr="data")], value=value)
                | ast.AugAssign(target=ast.Attribute(attr="data"), value=value)
                | ast.Call(
                    func=ast.Attribute(
                        attr="add_" | "sub_" | "mul_", value=ast.Attribute(attr="data")
                    ),
                    args=[value, *_],
                )
                | ast.Call(
                    func=ast.Name(id="Parameter") | ast.Attribute(attr="Parameter"),
                    args=[value, *_],
                )
            ):
                if any(inner is draw or ast.unparse(inner) in names for inner in walk(value)):
                    return True
    return False


def is_sent_to_all(live: LiveProgram, function: Function, draw: ast.AST) -> bool:
    """Whether one rank's draw is broadcast, by the function, one that it calls, another method where it is kept, or by all
    that call it: that ranks draw alike harms nothing, nor that they draw differently.

    VideoGPT 733d2b1 videogpt/vqvae.py:141: `_tile()` adds noise to what its callers hand to `dist.broadcast(_k_rand, 0)`.
    """
    drawn = _made_of(function, draw, _shuffled(draw) if isinstance(draw, ast.Call) else ())
    if _broadcasts(function, drawn) or _hands_to_broadcast(live, function, draw, drawn):
        return True
    kept = frozenset(name for name in drawn if name.startswith("self."))
    methods = function.cls.methods.values() if kept and function.cls is not None else ()
    if any(_broadcasts(method, kept) for method in methods):
        return True
    given_back = any(
        node.value is not None and _holds(node.value, draw, drawn)
        for node in own_nodes(function, ast.Return)
    )
    callers = callers_by_name(live.program, function) if given_back else ()
    return bool(callers) and all(_broadcasts(user, _made_of(user, call)) for user, call in callers)


def _hands_to_broadcast(
    live: LiveProgram, function: Function, draw: ast.AST, drawn: Set[str]
) -> bool:
    """Whether a function hands what it has drawn to one of the program that broadcasts it."""
    for call in own_nodes(function, ast.Call):
        called: object = live.resolve(function.module, call.func)
        match call.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr) if function.cls is not None:
                called = function.cls.methods.get(attr)
        if not isinstance(called, Function) or called is function:
            continue
        for name in called.parameters:
            given = argument_of(call, called, name)
            if (
                given is not None
                and _holds(given, draw, drawn)
                and _broadcasts(called, _made_of(called, draw, (name,)))
            ):
                return True
    return False


def _made_of(function: Function, source: ast.AST, known: Iterable[str] = ()) -> frozenset[str]:
    """The variables of a function into which an expression goes, or what is `known`, also through others."""
    names: set[str] = set(known)
    found = True
    while found:
        found = False
        for name, values in assignments(function).items():
            if name not in names and any(_holds(value, source, names) for value in values):
                names.add(name)
                found = True
    return frozenset(names)


def _holds(value: ast.expr, source: ast.AST, names: Set[str]) -> bool:
    return any(
        inner is source
        or (isinstance(inner, ast.Name | ast.Attribute) and dotted_name(inner) in names)
        for inner in walk(value)
    )


def _broadcasts(function: Function, names: Set[str]) -> bool:
    """Whether a function broadcasts a variable: `dist.broadcast(order, 0)`, `broadcast_object_list([order])`, or a helper
    that is called so."""
    return bool(names) and any(
        "broadcast" in last_name(node.func)
        and any(
            dotted_name(part) in names
            for given in (*node.args, *(keyword.value for keyword in node.keywords))
            for part in (given, *(given.elts if isinstance(given, ast.List | ast.Tuple) else ()))
        )
        for node in own_nodes(function, ast.Call)
    )


def drawn_by_each(live: LiveProgram, function: Function, made: list[ast.expr]) -> ast.Call | None:
    """A draw of a function that goes into an expression, and that no seed makes the same on all ranks.

    Not one of a run of one process: RTD-Action a1b357e main.py:252, `RandomSampler` in the `else` of `if args.distributed:`.
    """
    for draw, row in draws_by_syntax(live, function):
        names = _made_of(function, draw) | _shuffled(draw)
        if any(
            _comes_before(function, draw, each) and _holds(each, draw, names) for each in made
        ) and not (_seeded_alike(live, row) or is_for_one_process(function, draw)):
            return draw
    return None


def _comes_before(function: Function, one: ast.expr, other: ast.expr) -> bool:
    """Whether an expression is evaluated in front of another one: it stands above, or in one loop with it.

    yolor 3ca250a train.py:279 draws the size of a batch, far below the file with the settings of the run.
    """
    return one.lineno <= other.lineno or any(
        loop.lineno <= other.lineno and one.lineno <= (loop.end_lineno or loop.lineno)
        for loop in own_nodes(function, ast.For, ast.While)
    )


def _shuffled(draw: ast.Call) -> frozenset[str]:
    """The variable whose elements a call puts into another order."""
    if last_name(draw.func) != "shuffle" or not draw.args:
        return frozenset()
    return frozenset({dotted_name(draw.args[0])} - {""})


def _seeded_alike(live: LiveProgram, draw: Draw) -> bool:
    """Whether a file of the program gives all ranks one seed for what a draw is made from."""
    return any(
        draws_from(draw, seed) and not seed.per_rank and not names_rank(seed)
        for module in live.program.modules.values()
        for seed in seeds(live, module)
    )


def differs_for_no_rank(function: Function, draw: ast.Call) -> bool:
    """Whether a draw stands where the process is alone, or makes a seed: what ranks draw by it is one order.

    LMFlow f3597db src/lmflow/pipeline/utils/raft_trainer.py:757: `if world_size <= 1: seed = ….random_().item()`.
    """
    for node in walk(function.node, ast.If, ast.Assign):
        match node:
            case ast.If(test=test, body=body) if _is_alone(test):
                if any(inner is draw for each in body for inner in walk(each)):
                    return True
            case ast.Assign(targets=[target], value=value) if "seed" in dotted_name(target).lower():
                if any(inner is draw for inner in walk(value)):
                    return True
    return False


def _is_alone(test: ast.expr) -> bool:
    match test:
        case ast.Compare(
            left=left,
            ops=[ast.Eq() | ast.LtE() | ast.Lt() as how],
            comparators=[ast.Constant(value=int(number))],
        ):
            size = left.func if isinstance(left, ast.Call) else left
            most = number - 1 if isinstance(how, ast.Lt) else number
            return most <= 1 and dotted_name(size).endswith(WORLD_SIZES)
    return False


def is_for_one_process(function: Function, call: ast.Call) -> bool:
    """Whether a call is made where the answer is no that there are several ranks.

    DB 65ca77a data/data_loader.py:52: the `else` of `if cmd.get("distributed"):`.
    """
    for statement, around in own_statements(function.body):
        if not any(node is call for node in evaluated_here(statement)):
            continue
        for outer, inner in pairwise((*around, statement)):
            if isinstance(outer, ast.If):
                asked = literals(outer.test, inner in outer.body)
                if any(not holds and _option_of(part) in DISTRIBUTED for part, holds in asked):
                    return True
    return False


def _option_of(test: ast.expr) -> str:
    """The name of the option that a test asks for: an attribute, a variable, or a key."""
    match test:
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
            return key
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return last_name(test)


def seeds_workers(live: LiveProgram, seed: Seed) -> bool:
    """Whether a seed has Lightning give the loader workers of each rank streams of their own.

    pytorch-lightning 2.6.6 lightning_fabric/utilities/seed.py:89, `pl_worker_init_function`: the worker's id and the
    rank go into it. Where a loader is given another function, that one alone runs (donut 4cfcf97 train.py:81).
    """
    helper = seed.site.callee
    calls = [seed.site.node, *(walk(helper.node) if helper is not None else ())]
    given = [
        value
        for call in calls
        if isinstance(call, ast.Call) and last_name(call.func) == "seed_everything"
        for value in (*call.args[1:2], *(k.value for k in call.keywords if k.arg == "workers"))
    ]
    return any(
        not isinstance(each, ast.Constant) or bool(each.value) for each in given
    ) and not any(
        "worker_init_fn=" in module.source.text for module in live.program.modules.values()
    )


def draws_from(draw: Draw, seed: Seed) -> bool:
    """Whether a draw uses a stream that the seed sets."""
    return any(stream in seed.streams for stream in _DRAWS_FROM.get(draw.stream, ()))


@remembered
def makes_ranks_differ(live: LiveProgram, module: Module) -> bool:
    """Whether a file gives ranks random streams of their own anywhere, by whatever means.

    Also in ways that cannot be followed: a seed from the rank in a generator, in a worker function
    of a loader, or in a function with the rank among its parameters.
    """
    return bool(_streams_apart(live, module)) or _has_helper_of_ranks(module)


@remembered
def makes_torch_differ(
    live: LiveProgram,
    module: Module,
    users: frozenset[Module] = frozenset(),
    *,
    in_workers: bool = True,
) -> bool:
    """Whether a file gives ranks streams of their own from which torch draws, or (`in_workers`) the loaders' workers.

    A seed of numpy's alone leaves these alike, unless one of torch is drawn by it. modulus 878fd04
    examples/generative/stormcast/utils/trainer.py:72: `np.random.seed(seed * world_size + rank)`, then
    `torch.manual_seed(seed)`, and the loss draws from torch; NVlabs' EDM: `torch.manual_seed(np.random.randint(1 << 31))`.
    Nor does a function that seeds by a rank if it is given one, and is given none by those that count.

    Args:
        live: the program.
        module: the file.
        users: the files whose calls of such a function count; none for those of all files.
        in_workers: whether what only the workers of loaders run counts.
    """
    apart = _streams_apart(live, module, in_workers=in_workers)
    if _is_given_ranks(live, module, users, in_workers=in_workers) or not apart <= {"numpy"}:
        return True
    return bool(apart) and any(
        isinstance(part, ast.Call)
        for seed in seeds(live, module)
        if "torch" in seed.streams
        for given in (*seed.site.node.args, *(k.value for k in seed.site.node.keywords))
        for each in (given, *assignments(seed.site.function).get(ast.unparse(given), ()))
        for part in walk(each)
    )


@remembered
def runs_in_workers(live: LiveProgram, function: Function) -> bool:
    """Whether loaders have their workers run a function, and nothing calls it: what it seeds is no stream of the rank's own process.

    HLLM 2deed17 code/REC/data/utils.py:113: `random.seed(initial_seed + worker_id + rank * num_workers)` where all ranks begin
    alike, and the model draws the negatives.
    """
    started = _started_in_workers(live)
    return any(
        outer.name in started and not callers_by_name(live.program, outer)
        for outer in function.outward()
    )


@remembered
def _started_in_workers(live: LiveProgram) -> frozenset[str]:
    """The names of the functions that loaders start their workers with."""
    return frozenset().union(*map(_starts_of_workers, live.program.modules.values()))


@remembered
def _starts_of_workers(module: Module) -> frozenset[str]:
    """The names of the functions that a file gives loaders to start their workers with."""
    if _WORKER_START not in module.source.text:
        return frozenset()
    given = [k.value for k in walk(module.source.tree, ast.keyword) if k.arg == _WORKER_START]
    names = {each.id for each in given if isinstance(each, ast.Name)}
    given += (  # `start = partial(start_worker, rank=rank)`
        node.value
        for node in walk(module.source.tree, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id in names for target in node.targets)
    )
    return frozenset(
        last_name(each.args[0] if isinstance(each, ast.Call) and each.args else each)
        for each in given
    )


@remembered
def _streams_apart(live: LiveProgram, module: Module, *, in_workers: bool = True) -> frozenset[str]:
    """The streams of which a file gives each rank another one; "all" for calls that may seed anything."""
    found: set[str] = set()
    for call in live.calls(module=module):
        for _, site in call.sites:
            if not _may_seed(site.name) or _is_undone(live, site.function):
                continue
            if not in_workers and runs_in_workers(live, site.function):
                continue
            if is_helper(site.function) and _asks_parameter_alone(site.function):
                continue  # its callers say
            row = _row(site)
            seeding = row is not None or "seed" in site.method.lower() or site.method == "generator"
            values = (*site.args, *site.keywords.values())
            if (
                site.name in randomness.DECORRELATING
                or (seeding and any(_of_rank(v) for v in values))
                or (row is not None and row.seed == "self")
                or (row is not None and row.per_rank and _is_true(site.keywords.get(row.per_rank)))
            ):
                found.update(row.streams if row is not None else ("all",))
    return frozenset(found)


def _has_helper_of_ranks(module: Module) -> bool:
    return any(is_helper(f) and _rank_parameters(f) for f in module.all_functions)


def _rank_parameters(helper: Function) -> list[str]:
    return [p for p in helper.parameters if "rank" in p or p == "device_specific"]


def _is_given_ranks(
    live: LiveProgram, module: Module, users: frozenset[Module], *, in_workers: bool
) -> bool:
    """Whether a file defines a function that seeds by a rank, which some call gives it, or may."""
    for helper in module.all_functions:
        if not in_workers and runs_in_workers(live, helper):
            continue
        if is_helper(helper) and _rank_parameters(helper):
            calls = [
                call
                for user, call in callers_by_name(live.program, helper)
                if not users or user.module in users
            ]
            if not calls or not all(_leaves_rank_out(call, helper) for call in calls):
                return True
    return False


def _leaves_rank_out(call: ast.Call, helper: Function) -> bool:
    """Whether a call leaves a function that seeds by a rank only if it is given one without it.

    VideoSys 4cce477 examples/training/open_sora/train.py:57: `set_seed(args.seed)` of `def set_seed(seed, dp_rank=None)`.
    """
    if any(isinstance(a, ast.Starred) for a in call.args):
        return False
    if any(k.arg is None for k in call.keywords):
        return False
    return _asks_parameter_alone(helper) and all(
        isinstance(default_of(helper, name), ast.Constant)
        and isinstance(argument_of(call, helper, name), ast.Constant | None)
        for name in _rank_parameters(helper)
    )


@remembered
def _asks_parameter_alone(helper: Function) -> bool:
    """Whether a function that seeds knows of the rank what a parameter says, and asks nobody else."""
    named = {
        name
        for node in walk(helper.node)
        for name in (getattr(node, "attr", ""), getattr(node, "id", ""))
        if "rank" in name or "process_index" in name
    }
    asked = _rank_parameters(helper)
    return bool(asked) and named <= set(asked)


@remembered
def _is_undone(live: LiveProgram, function: Function) -> bool:
    """Whether a function, or all that call it, put the generators back as they were.

    sd-scripts library/train_util.py:6526: `torch.seed()` for a picture of the state of the training.
    """
    if _restores(function):
        return True
    callers = callers_by_name(live.program, function)
    return bool(callers) and all(_restores(user) for user, _ in callers)


@remembered
def _restores(function: Function) -> bool:
    return "set_rng_state" in function.module.source.text and any(
        last_name(node) == "set_rng_state" for node in own_nodes(function, ast.Call)
    )


@cache
def _may_seed(name: str) -> bool:
    """Whether a call may give ranks random streams of their own, by its name alone."""
    method = name.rpartition(".")[2]
    return (
        name in randomness.DECORRELATING
        or name in randomness.SEEDINGS
        or method in randomness.ANY_SEEDINGS
        or "seed" in method.lower()
        or method == "generator"
    )


def _row(site: CallSite) -> Seeding | None:
    row = randomness.SEEDINGS.get(site.name)
    if row is None and site.callee is None and site.args:
        row = randomness.ANY_SEEDINGS.get(site.method)
    return row


def _direct(call: CallGroup, row: Seeding) -> Seed:
    site = call.site
    position = row.seed if isinstance(row.seed, int) else None
    node = site.argument_node(position, row.keyword)
    values = [s.argument(position, row.keyword) for _, s in call.sites]
    per_rank = site.name in randomness.DECORRELATING or row.seed == "self"
    per_rank |= any(v is not None and _of_rank(v) for v in values)
    if row.per_rank:
        given = [s.keywords.get(row.per_rank) for _, s in call.sites]
        per_rank |= any(v is not None and (_is_true(v) or _of_rank(v)) for v in given)
        # efficientdet-pytorch c6dff77 train.py:288: `utils.random_seed(args.seed, args.rank)`, where timm sets the rank.
        per_rank |= row.per_rank == "rank" and any(
            map(_names_rank, (*site.node.args[1:2], *_of_keyword(site.node, row.per_rank)))
        )
    return Seed(call, node and without_rank(node), per_rank, row.streams)


def _of_keyword(call: ast.Call, name: str) -> list[ast.expr]:
    return [each.value for each in call.keywords if each.arg == name]


def _through(live: LiveProgram, call: CallGroup, helper: Function) -> Seed | None:
    summaries = live.summaries_of(helper)
    inside = [
        (site, row)
        for _, summary in (summaries.summaries() if summaries is not None else ())
        for site in summary.calls
        if (row := _row(site)) is not None
    ]
    # By syntax: a function that has nothing to do with ranks is not followed.
    rows = [
        row
        for node in walk(helper.node, ast.Call)
        if isinstance(name := live.resolve(helper.module, node.func), str)
        and (row := randomness.SEEDINGS.get(name)) is not None
    ]
    rows += [row for _, row in inside]
    streams = tuple(dict.fromkeys(s for row in rows for s in row.streams if s != "generator"))
    if not streams:
        return None
    per_rank = any(_of_rank(v) for _, s in call.sites for v in (*s.args, *s.keywords.values()))
    if not _leaves_rank_out(call.site.node, helper):
        per_rank |= any(_of_rank(site.args[0]) for site, _ in inside if site.args)
    per_rank |= any(
        row.per_rank and _is_true(site.keywords.get(row.per_rank)) for site, row in inside
    )
    nodes = [*call.site.node.args, *(k.value for k in call.site.node.keywords if k.arg == "seed")]
    seed = next((without_rank(n) for n in nodes if not isinstance(n, ast.Starred)), None)
    return Seed(call, seed, per_rank, streams)


def _of_rank(value: Value) -> bool:
    """Whether the rank is in a seed, beside whatever else: `rank + seed`, where one arm takes the clock for the seed."""
    return value.variance is Variance.RANK_DEPENDENT or (
        value.variance is Variance.RANK_LOCAL and "rank" in value.tags
    )


def _is_true(value: Value | None) -> bool:
    return value is not None and value.truthiness() is True


def without_rank(node: ast.expr) -> ast.expr | None:
    """`seed` of `seed + rank`: the operand that is no name for a rank; None where it is not that plain."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            kept = [part for part in (left, right) if not _names_rank(part)]
            return kept[0] if len(kept) == 1 else None if len(kept) == 0 else node
    return None if _names_rank(node) else node


def _names_rank(node: ast.expr) -> bool:
    return any(
        "rank" in name.lower() or "process_index" in name
        for child in walk(node)
        for name in (
            getattr(child, "attr", ""),
            getattr(child, "id", ""),
            getattr(child, "value", ""),
        )
        if isinstance(name, str)
    )
