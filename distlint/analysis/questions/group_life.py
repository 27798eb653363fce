"""When the default process group is there: what makes it, what ends it, and what comes behind that and needs it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite, Guard, Summary
from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.live.joint_entry import ComingTo, called, groups_of, in_handlers
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.places import innermost_at
from distlint.analysis.program.syntax import assignments, ends_process, literals, own_nodes
from distlint.knowledge import facts
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

TORCH_MAKES: Final = "torch.distributed.init_process_group"
"""Raises where there is a group: "trying to initialize the default process group twice!" (torch 2.13.0
torch/distributed/distributed_c10d.py). What other libraries have makes one only where there is none."""
_ENDS: Final = "torch.distributed.destroy_process_group"
END_OF_TRAINING: Final = "accelerate.Accelerator.end_training"
"""Destroys the default group since accelerate 0.34.0 (accelerator.py:2718, pull request 3012); 0.33.0 ends trackers only."""
_RAYS_TRAINER: Final = frozenset(
    {"ray.train.torch.TorchTrainer", "ray.train.torch.torch_trainer.TorchTrainer"}
)
_OBJECTS: Final = frozenset({"accelerate.Accelerator", "accelerate.PartialState"})
_QUESTIONS: Final = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})
_OF_GROUP: Final = frozenset(
    {"torch.distributed", "accelerate.Accelerator", "accelerate.PartialState", "deepspeed.comm"}
)
"""Whose collectives raise without a group: `torch.distributed.checkpoint.save` goes on alone."""
_OF_STATE: Final = pattern(
    r"is_initialized|is_available|distributed|world_?size|num_processes|is_dist|use_ddp|\bddp\b|rank|\bdist\b|_group",
    re.IGNORECASE,
)
"""Words of conditions that may ask whether there is a group."""
_OF_LAUNCH: Final = pattern(
    r"^(?!.*(?:WORLD\b|_default_pg|GroupMember)).*(?:\benviron\b|\bgetenv\b|\bdistributed\b)",
    re.IGNORECASE,
)
_MAKING: Final = pattern(r"init|setup|set_up|join|launch|start|spawn|mesh", re.IGNORECASE)
_SCOPES: Final = frozenset({"__enter__", "__exit__", "__aenter__", "__aexit__"})
_MAX_STEPS: Final = 400
_Test = Callable[[CallSite], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Met:
    """A call that makes, ends or needs the group, and the calls that lead to it from the function that both ways have."""

    site: CallSite
    through: tuple[CallSite, ...] = ()

    @property
    def outer(self) -> CallSite:
        """The call in the function that the way begins in."""
        return self.through[0] if self.through else self.site

    @property
    def guards(self) -> Iterator[Guard]:
        """The conditions on the way."""
        for site in (*self.through, self.site):
            yield from site.guards

    @property
    def conditions(self) -> dict[str, bool]:
        """The conditions on the way as written, and how each came out."""
        return {
            ast.unparse(part): holds
            for guard in self.guards
            for part, holds in literals(guard.node, guard.taken)
        }

    @property
    def caught(self) -> bool:
        """Whether a handler around it may take what it raises."""
        return any(block.handlers for site in (*self.through, self.site) for block in site.tries)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two calls that one process makes one after the other: the second one raises.

    `certain` says whether whoever makes the first one comes to the second.
    """

    function: Function
    first: Met
    second: Met
    certain: bool


def behind_the_end(live: LiveProgram) -> Iterator[Pair]:
    """What needs the default group behind what has ended it; the first of each end."""
    yield from _pairs(live, _is_end, _needs_group)


def made_twice(live: LiveProgram) -> Iterator[Pair]:
    """A group that is made where there is one: by torch's own function, which raises then."""
    yield from _pairs(live, _makes, lambda site: site.name == TORCH_MAKES)


def made_in_workers(live: LiveProgram) -> Iterator[tuple[Module, ast.Call, Met]]:
    """torch's own function in what Ray's TorchTrainer runs on each worker, where it has made the group before; with the trainer.

    ranking-reward-alignment 106d50f train_ray.py:14. ray 2.49.0 python/ray/train/torch/config.py: `_TorchBackend.on_start`.
    """
    ways = _Ways(lambda site: site.name == TORCH_MAKES, lambda site: site.name == TORCH_MAKES)
    for module, call, function in _worker_loops(live):
        summaries = live.summaries_of(function)
        for _, group in groups_of(summaries) if summaries is not None else ():
            run = dict(group).get(MAIN)
            met = ways.of(run) if run is not None else []
            if (
                met
                and met[0].site.name == TORCH_MAKES
                and not met[0].caught
                and not any(_OF_STATE.search(ast.unparse(g.node)) for g in met[0].guards)
            ):
                yield module, call, met[0]
                break


def _worker_loops(live: LiveProgram) -> Iterator[tuple[Module, ast.Call, Function]]:
    """The functions of the program that a TorchTrainer of Ray is told to run, with the call that makes it."""
    for module in live.program.modules.values():
        if "TorchTrainer" not in module.source.text:
            continue
        for node in walk(module.source.tree, ast.Call):
            if str(live.resolve(module, node.func)) in _RAYS_TRAINER:
                given = [k.value for k in node.keywords if k.arg == "train_loop_per_worker"]
                for loop in given or node.args[:1]:
                    if isinstance(function := live.resolve(module, loop), Function):
                        yield module, node, function


def _pairs(live: LiveProgram, first: _Test, second: _Test) -> Iterator[Pair]:
    ways = _Ways(first, second)
    found: dict[int, Pair] = {}
    for summaries in live.functions():
        for _, group in groups_of(summaries):
            run = dict(group).get(MAIN)
            if run is None or run not in ways.leading:
                continue
            for pair in _in_order(summaries.function, ways.of(run), first, second):
                key = id(pair.first.site.node)
                known = found.get(key)
                if known is None or _length(pair) < _length(known):
                    found[key] = pair
    yield from sorted(found.values(), key=lambda pair: _where(pair.second.site))


def _where(site: CallSite) -> tuple[str, int, int]:
    return site.module.path, site.node.lineno, site.node.col_offset


def _length(pair: Pair) -> int:
    return len(pair.first.through) + len(pair.second.through)


def _in_order(function: Function, met: list[Met], first: _Test, second: _Test) -> Iterator[Pair]:
    """Each first call with the next second one, with nothing between that makes or ends the group."""
    for at, one in enumerate(met):
        if not first(one.site) or _in_handler(one) or _in_scope(one) or _ends_there(one):
            continue
        for other in met[at + 1 :]:
            if second(other.site):
                certain = _follows(one, other)
                if certain is not None and not (other.caught or _in_handler(other)):
                    yield Pair(function, one, other, certain)
                    break
            if _is_end(other.site) or _makes(other.site) or _may_make(other.site):
                break


def _follows(one: Met, other: Met) -> bool | None:
    """Whether who comes to the first call surely comes to the second; None where it may never.

    A condition that may ask for the group itself comes out as the first call has left it.
    """
    held, more = one.conditions, other.conditions
    if one.site.node is other.site.node:
        return None  # a setup that is called twice, in two processes as a rule: bergson 3c66bb5 bergson/distributed.py:26
    if any(held.get(text, taken) is not taken for text, taken in more.items()):
        return None
    extra = [
        guard
        for guard in other.guards
        if not all(ast.unparse(part) in held for part, _ in literals(guard.node, guard.taken))
    ]
    if any(map(_asks_group, other.guards)):
        return None
    if not extra:
        return True
    if _makes(one.site):
        of_launch = all(_OF_LAUNCH.search(ast.unparse(guard.node)) for guard in extra)
        return False if of_launch and not held else None
    # Only what stands beside the end: a helper may ask in many ways whether there is a group.
    beside = {id(guard) for guard in other.outer.guards}
    independent = all(
        id(guard) in beside and not guard.exits and not _OF_STATE.search(ast.unparse(guard.node))
        for guard in extra
    )
    return False if independent else None


def _asks_group(guard: Guard) -> bool:
    """Whether a condition asks whether there is a group, itself or by a variable that holds the answer."""
    given = assignments(innermost_at(guard.module, guard.node.lineno))
    held = (each for node in walk(guard.node, ast.Name) for each in given.get(node.id, ()))
    return any("is_initialized" in ast.unparse(each) for each in (guard.node, *held))


def _in_scope(met: Met) -> bool:
    """Whether a call stands in what a `with` enters or leaves: what the other of the two does is not in its place."""
    return any(site.function.name in _SCOPES for site in (*met.through, met.site))


def _ends_there(met: Met) -> bool:
    """Whether a function that leads to a call ends the process: `def stop(): dist.destroy_process_group(); sys.exit(0)`."""
    return any(
        ends_process(node.func)
        for site in met.through
        if site.callee is not None
        for node in own_nodes(site.callee, ast.Call)
    )


def _may_make(site: CallSite) -> bool:
    """Whether what nobody knows may make the group, by its name: `env.rejoin()`."""
    return site.callee is None and not site.rows and _MAKING.search(site.method) is not None


def _in_handler(met: Met) -> bool:
    """Whether a call stands in what follows a failure."""
    return any(id(site.node) in in_handlers(site.function) for site in (*met.through, met.site))


def _is_default(site: CallSite) -> bool:
    """Whether a call is about the default group."""
    if site.name.startswith("accelerate."):
        return True
    position = 0 if site.name in {_ENDS, *_QUESTIONS, "torch.distributed.barrier"} else None
    given = [site.argument_node(position), *(site.argument_node(None, n) for n in ("group", "pg"))]
    return all(
        each is None or (isinstance(each, ast.Constant) and each.value is None) for each in given
    )


def _is_end(site: CallSite) -> bool:
    return site.name == END_OF_TRAINING or (site.name == _ENDS and _is_default(site))


def _makes(site: CallSite) -> bool:
    return site.name in facts.GROUP_STARTS or site.name in _OBJECTS


def _needs_group(site: CallSite) -> bool:
    owner = site.name.rpartition(".")[0]
    if owner not in _OF_GROUP or _makes(site) or _is_end(site):
        return False
    always = any(row.effect is Effect.COLLECTIVE for row in site.rows)
    return (always or site.name in _QUESTIONS) and _is_default(site)


class _Ways:
    """The calls of runs that make, end or need the group, in order, through what they call."""

    def __init__(self, first: _Test, second: _Test) -> None:
        self._second = second
        self.leading = ComingTo(lambda run: any(map(first, run.calls)))
        self._met = ComingTo(lambda run: any(map(self._counts, run.calls)))
        self._known: dict[Summary, list[Met]] = {}

    def _counts(self, site: CallSite) -> bool:
        return self._second(site) or _is_end(site) or _makes(site) or _may_make(site)

    def of(self, run: Summary) -> list[Met]:
        """What a run comes to, in order."""
        if run in self._known:
            return self._known[run]
        self._known[run] = []  # a recursive call adds nothing of its own
        if run not in self._met:
            return []
        children: dict[int, Summary] = {}
        for site, child in called(run):
            children.setdefault(id(site), child)
        met: list[Met] = []
        for site in sorted(run.calls, key=lambda each: each.order):
            if len(met) > _MAX_STEPS:
                break
            inner = children.get(id(site))
            # What stands behind a `yield` runs behind what asks for the element, or at the end of its `with`.
            if inner is not None and not inner.function.is_generator:
                met += [Met(m.site, (site, *m.through)) for m in self.of(inner)]
            if self._counts(site):
                met.append(Met(site))
        self._known[run] = met
        return met
