"""Folders into which each rank writes its share of the files, and which are listed before all ranks have, or removed
by ranks that come later."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from enum import Enum
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite, Summary
from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.live.joint_entry import ComingTo, called, groups_of, may_be_about_rank
from distlint.analysis.live.processes import SAYS_RANKS
from distlint.analysis.live.several import has_no_ranks
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import (
    assignments,
    element_names,
    literals,
    mentions_rank,
    own_nodes,
    target_names,
)
from distlint.analysis.questions.commands import put_into, removed_by_command
from distlint.analysis.questions.filesystem import (
    appended,
    effects_of,
    names_a_part,
    path_value,
    tolerated,
)
from distlint.analysis.questions.locks import locks_around
from distlint.analysis.questions.ordering import arguments_of
from distlint.analysis.questions.paths import Parts, bound, holds, parts_of
from distlint.knowledge import facts, sinks
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

_LISTS: Final = {
    "os.listdir": False,
    "os.scandir": False,
    "os.walk": True,
    "glob.glob": False,
    "glob.iglob": False,
}
"""Functions that list the folder of their first argument, and whether they go down into it."""
_METHODS: Final = {"iterdir": False, "glob": False, "rglob": True}
"""The same of the methods of a path."""
_WILD: Final = pattern(r"[*?\[]")
_WAITS: Final = pattern(
    "barrier|wait|sync|gather|reduce|broadcast|process_first|backward|^prepare$|^(train|fit|evaluate|predict)$"
)
"""Names of calls after which no rank is far ahead of another, whatever they belong to."""
_DATA: Final = frozenset({"clock", "hash", "process", "random", "file"})
"""Kinds of what differs between processes without being a share of the work."""
_DIVIDES: Final = frozenset(
    {
        "prepare",
        "prepare_data_loader",
        "setup_dataloaders",
        "split_between_processes",
        "DistributedSampler",
    }
)
"""Calls that give each rank its part of what is looped over."""
_OWN_FOLDER: Final = pattern(r"'(?:mkdtemp|TemporaryDirectory)'")
"""What makes a folder under a name that nobody else has (python 3.11 tempfile)."""
_POOLS: Final = ("concurrent.futures", "multiprocessing", "threading", "joblib")
"""Libraries whose workers one process starts, and waits for."""
_MAX_ACTS: Final = 400
_MAX_DEPTH: Final = 5


class Does(Enum):
    """What happens to a folder."""

    WRITE = "write"
    LIST = "list"
    REMOVE = "remove"
    WAIT = "wait"


@dataclass(frozen=True, slots=True, eq=False)
class Act:
    """One thing that a rank does, in terms of the function whose run it belongs to.

    path      the file that is written, or the folder that is listed or removed
    node      the call, in `module`
    sites     the calls that lead there, innermost first
    own       whether the name of the written file is this rank's own
    deep      whether a listing goes down into the folders of the folder
    again     whether a removal takes it that another rank was there before: each rank removes what is there then
    """

    does: Does
    path: Parts
    node: ast.Call
    module: Module
    sites: tuple[CallSite, ...]
    own: bool = False
    deep: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Early:
    """A folder that is listed or removed where other ranks may still write their files into it."""

    written: Act
    used: Act


def used_early(live: LiveProgram) -> Iterator[Early]:
    """Each listing or removal of a folder that nothing makes wait for the ranks that write into it."""
    acts = live.answer(_acts)
    found: dict[int, Early] = {}
    for first, other in _of_first_and_others(live):
        if other not in acts.writing:
            continue
        written = {id(act.node): act for act in acts.of(other) if act.does is Does.WRITE}
        for run in (first, other):
            for early in _early(acts.of(run), written):
                known = found.get(id(early.used.node))
                if known is None or _far(early) < _far(known):
                    found[id(early.used.node)] = early
    yield from found.values()


def removed_late(live: LiveProgram) -> Iterator[Early]:
    """Each removal of a folder by every rank, into which the ranks that were faster have written their files since.

    AVT b082c99 func/train.py:355: rank 0 is late, since it has saved a checkpoint, and removes the results of the others.
    """
    acts = live.answer(_acts)
    found: dict[int, Early] = {}
    for first, other in _of_first_and_others(live):
        if first not in acts.removing:
            continue  # to follow all acts of all runs is dear
        theirs = {id(act.node) for act in acts.of(other)}
        for late in _late(acts.of(first), theirs):
            known = found.get(id(late.used.node))
            if known is None or _far(late) < _far(known):
                found[id(late.used.node)] = late
    yield from found.values()


def _of_first_and_others(live: LiveProgram) -> Iterator[tuple[Summary, Summary]]:
    """The runs of functions that rank 0 and other ranks enter with the same arguments."""
    for summaries in live.functions():
        if not has_no_ranks(summaries.function.module):
            for _, group in groups_of(summaries):
                runs = dict(group)
                if MAIN in runs and OTHER in runs:
                    yield runs[MAIN], runs[OTHER]


def _late(acts: list[Act], theirs: set[int]) -> Iterator[Early]:
    removed: list[Act] = []
    for act in acts:
        if act.does is Does.WAIT:
            removed = []
        elif act.does is Does.REMOVE and act.again and id(act.node) in theirs:
            removed.append(act)
        elif act.does is Does.WRITE and act.own and id(act.node) in theirs:
            for each in removed:
                if _in(each, act) and not _exclude(each, act):
                    yield Early(act, each)


def _far(early: Early) -> int:
    return len(early.written.sites) + len(early.used.sites)


def _early(acts: list[Act], theirs: dict[int, Act]) -> Iterator[Early]:
    waiting: list[Act] = []
    for act in acts:
        if act.does is Does.WAIT:
            waiting = []
        elif act.does is Does.WRITE:
            if (
                act.own
                and id(act.node) in theirs
                and not _by_workers(act.module)
                and not any(may_be_about_rank(g) for site in act.sites for g in site.guards)
            ):
                waiting.append(act)
        else:
            for written in waiting:
                if (
                    _in(act, written)
                    and not _exclude(act, written)
                    and not any(map(_is_of_process, act.path))
                    and locks_around(act.sites).isdisjoint(locks_around(written.sites))
                    and _of_one(act).isdisjoint(_of_one(written))
                ):
                    yield Early(written, act)
                    break


@remembered
def _by_workers(module: Module) -> bool:
    """Whether what is numbered in a file are the workers of a pool: it starts one, and says nothing of ranks.

    contrastors scripts/text/multilingual/process_mc4.py:58: `executor.submit(process_shard, ds, i, …)`.
    """
    return any(name.startswith(_POOLS) for name in module.imports.values()) and not (
        SAYS_RANKS.search(module.source.text)
    )


def _in(used: Act, written: Act) -> bool:
    deeper = len(written.path) - len(used.path)
    if not holds(used.path, written.path) or deeper < 1:
        return False
    return used.does is Does.REMOVE or used.deep or deeper == 1


def _exclude(one: Act, other: Act) -> bool:
    """Whether a condition lets only one of the two happen."""
    held = set(_held(one))
    return any((function, text, not taken) in held for function, text, taken in _held(other))


def _is_of_process(part: Hashable) -> bool:
    """Whether a component of a path is a folder that each process makes for itself.

    accelerate 1.15.0 accelerate/utils/modeling.py:1950: `state_dict_folder = tempfile.mkdtemp()`.
    """
    match part:
        case ("expression", _, str(dump)):
            return _OWN_FOLDER.search(dump) is not None
    return False


def _of_one(act: Act) -> set[int]:
    """The conditions of an act, by their nodes, that one rank of a group passes: what it does below another does not.

    AReaL 4aef98d areal/experimental/engine/archon_checkpoint.py:290: `if dist.get_rank(group=process_group) == 0:`, and
    in it the index is written and the folder moved.
    """
    return {
        id(guard.node)
        for site in act.sites
        for guard in site.guards
        for node, taken in literals(guard.node, guard.taken)
        if taken and _names_one(node)
    }


def _names_one(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int())]):
            return mentions_rank(left)
    return False


def _held(act: Act) -> Iterator[tuple[Function, str, bool]]:
    for site in act.sites:
        for guard in site.guards:
            for node, taken in literals(guard.node, guard.taken):
                yield site.function, ast.unparse(node), taken


def _acts(live: LiveProgram) -> _Acts:
    """What runs do to folders, kept for both questions."""
    return _Acts(live)


@remembered
def _own_of(_: LiveProgram, summary: Summary) -> dict[CallSite, tuple[Act, ...]]:
    """What the calls of a run do themselves, as far as they do anything."""
    return {site: acts for site in summary.calls if (acts := tuple(_own(site)))}


class _Acts:
    """What runs do to folders in order, with the calls that they make followed."""

    def __init__(self, live: LiveProgram) -> None:
        self._live = live
        self._known: dict[tuple[Summary, int], list[Act]] = {}
        self._under_way: set[Summary] = set()
        self._cuts = 0
        self._leading = ComingTo(self._has_acts)
        self.removing = ComingTo(self._removes_again)
        """The runs that come to a removal which takes it that another rank was there before."""
        self.writing = ComingTo(self._writes)

    def _has_acts(self, summary: Summary) -> bool:
        return bool(_own_of(self._live, summary)) or any(
            site.callee is not None and _plain(site.callee) for site in summary.calls
        )

    def _removes_again(self, summary: Summary) -> bool:
        return any(act.again for acts in _own_of(self._live, summary).values() for act in acts)

    def _writes(self, summary: Summary) -> bool:
        found = _own_of(self._live, summary).values()
        return any(act.does is Does.WRITE for acts in found for act in acts)

    def of(self, summary: Summary, depth: int = _MAX_DEPTH) -> list[Act]:
        """The acts of a run, in terms of its function."""
        known = self._known.get((summary, depth))
        if known is not None:
            return known
        if summary in self._under_way:
            self._cuts += 1  # a recursive call adds nothing of its own
            return []
        if summary not in self._leading:
            return []
        cuts = self._cuts
        self._under_way.add(summary)
        acts = self._in_order(summary, depth)
        self._under_way.remove(summary)
        if cuts == self._cuts or not self._under_way:
            self._known[summary, depth] = acts
        return acts

    def _in_order(self, summary: Summary, depth: int) -> list[Act]:
        acts: list[Act] = []
        own = _own_of(self._live, summary)
        children: dict[int, Summary] = {}
        if depth:
            for site, child in called(summary):
                children.setdefault(id(site), child)
        for site in sorted(summary.calls, key=lambda s: s.order):
            if len(acts) > _MAX_ACTS:
                break
            inner = children.get(id(site))
            if inner is not None:
                acts += _seen_from(site, inner.function, self.of(inner, depth - 1))
            elif site.callee is not None:
                acts += _seen_from(site, site.callee, _plain(site.callee))
            acts += own.get(site, ())
        return acts


def _seen_from(site: CallSite, callee: Function, acts: Iterable[Act]) -> Iterator[Act]:
    """Acts of a callee in terms of the caller."""
    given: dict[Hashable, Parts] | None = None
    for act in acts:
        if act.does is Does.WAIT:
            yield act
            continue
        if given is None:
            given = arguments_of(site, callee)
        own = act.own or (act.does is Does.WRITE and _given_own(site, callee, act.path))
        path = bound(_kept(act.path, callee), given)
        yield replace(act, path=path, sites=(*act.sites, site), own=own)


def _given_own(site: CallSite, callee: Function, path: Parts) -> bool:
    """Whether what is passed for a parameter in the name of a file is this rank's own."""
    wanted = set(_parameters(path[-1:]))
    skipped = 1 if callee.cls is not None and callee.parameters[:1] in (["self"], ["cls"]) else 0
    for position, name in enumerate(callee.parameters[skipped:]):
        node = site.argument_node(position, name)
        if (
            name in wanted
            and node is not None
            and (_is_share(site.argument(position, name)) or names_a_part(node, site.function))
        ):
            return True
    return False


def _parameters(parts: Hashable) -> Iterator[str]:
    match parts:
        case ("parameter", int(), str(name)):
            yield name
        case tuple():
            for part in parts:
                yield from _parameters(part)


def _kept(path: Parts, function: Function) -> Parts:
    """A path through an attribute that the function itself keeps a parameter in: `self.root = Path(root)`."""
    match path:
        case (("expression", _, str(dump)), *rest):
            value = _attributes_kept(function).get(dump)
            if value is not None:
                return (*parts_of(value, function), *rest)
    return path


@remembered
def _attributes_kept(function: Function) -> dict[str, ast.expr]:
    """What a function assigns to attributes of its object, where that is one value, by how they are read."""
    found: dict[str, ast.expr] = {}
    for name, given in assignments(function).items():
        attr = name.removeprefix("self.")
        values = [v for v in given if not _is_none(v)] if attr != name else []
        if len(values) == 1 and attr.isidentifier():
            found[ast.dump(ast.parse(name, mode="eval").body)] = values[0]
    return found


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _own(site: CallSite) -> Iterator[Act]:
    """What one call does."""
    wait = _WAITS.search(site.method.lower()) or facts.is_collective(site.rows)
    if wait or facts.wrapper(site.name) is not None:
        yield Act(Does.WAIT, (), site.node, site.module, ())
        return
    listed = _listed(site.node, site.name, site.function)
    if listed is not None:
        path, deep = listed
        if not _selects(site):
            yield Act(Does.LIST, path, site.node, site.module, (site,), deep=deep)
        return
    gone = removed_by_command(site.node) if site.name in sinks.COMMANDS else []
    for each in gone:
        if not names_a_part(each, site.function):
            path = parts_of(each, site.function)
            while path and _WILD.search(_text(path[-1])):
                path = path[:-1]
            yield Act(Does.REMOVE, path, site.node, site.module, (site,), again=True)
    for folder in _read_whole(site) if not gone else ():
        if not names_a_part(folder, site.function):
            path = parts_of(folder, site.function)
            yield Act(Does.LIST, path, site.node, site.module, (site,), deep=True)
    for effect, row, node in effects_of(site):
        if node is None or row.locked:
            continue
        path = parts_of(node, site.function)
        if effect is Effect.DELETE:
            again = tolerated(site) and not names_a_part(node, site.function)
            yield Act(Does.REMOVE, path, site.node, site.module, (site,), again=again)
        elif effect is Effect.WRITE:
            yield _writing(site, node, path_value(site, node))
    if (added := appended(site)) is not None:
        yield _writing(site, added, path_value(site, added))
    if site.name == ".save" and len(site.node.args) == 1 and site.node.args:
        # An image, of whatever made it.
        yield _writing(site, site.node.args[0], site.args[0] if site.args else None)


def _writing(site: CallSite, node: ast.expr, value: Value | None) -> Act:
    function = site.function
    # tango 34ecd38 mustango/diffusers/examples/dreambooth/train_dreambooth_flax.py:389: each process makes all pictures.
    own = _is_share(value) or names_a_part(node, function, bars=False) or _names_sample(node, site)
    path = parts_of(node, site.function)
    return Act(Does.WRITE, path, site.node, site.module, (site,), own=own)


def _is_share(value: Value | None) -> bool:
    """Whether a name is made of the rank, or of the part of the data that the rank was given."""
    if value is None:
        return False
    if value.variance is Variance.RANK_DEPENDENT or "rank" in value.tags:
        return True
    return (
        value.variance is Variance.RANK_LOCAL
        and not value.tags & _DATA
        and value.origin is not None
        and value.origin.kind not in _DATA
    )


def _names_sample(node: ast.expr, site: CallSite) -> bool:
    """Whether a name is made of a sample from a loader that divides the data among the ranks."""
    function = site.function
    named = _behind(node, function, loops=False) if site.loops else frozenset()
    for loop in site.loops:
        if not isinstance(loop, ast.For):
            continue
        target: ast.expr = loop.target
        if last_name(loop.iter) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[-1]
        if named.isdisjoint(target_names(target)):
            continue
        assigned = assignments(function)
        behind = _behind(loop.iter, function, loops=True)
        given = [loop.iter, *(value for name in behind for value in assigned.get(name, ()))]
        if any(
            isinstance(part, ast.Call) and last_name(part.func) in _DIVIDES
            for value in given
            for part in walk(value)
        ):
            return True
    return False


def _behind(node: ast.expr, function: Function, *, loops: bool) -> frozenset[str]:
    """The names that go into an expression, through what they are assigned; through loops where asked."""
    elements = element_names(function)
    found: set[str] = set()
    stack: list[ast.expr] = [node]
    while stack:
        for part in walk(stack.pop(), ast.Name):
            if part.id not in found:
                found.add(part.id)
                if loops or part.id not in elements:
                    stack.extend(assignments(function).get(part.id, ()))
    return frozenset(found)


def _selects(site: CallSite) -> bool:
    """Whether a listing looks for this rank's own files: `glob(f"{folder}/*_rank{rank}.pt")`."""
    nodes = [site.node, *(getattr(loop, "iter", None) for loop in site.loops)]
    for node in own_nodes(site.function, ast.comprehension):
        if any(n is site.node for n in walk(node.iter)):
            nodes += node.ifs
    return any(isinstance(node, ast.expr) and names_a_part(node, site.function) for node in nodes)


def _listed(call: ast.Call, name: str, function: Function) -> tuple[Parts, bool] | None:
    """The folder that a call lists, and whether it goes down into it; None for another call."""
    if name in _LISTS and call.args:
        path = parts_of(call.args[0], function)
        deep = _LISTS[name]
        if name.startswith("glob."):
            deep = any(
                isinstance(k.value, ast.Constant) and k.arg == "recursive" for k in call.keywords
            )
            while path and _WILD.search(_text(path[-1])):
                path = path[:-1]
        return path, deep
    match call.func:
        case ast.Attribute(value=owner, attr=attr) if attr in _METHODS and name not in _LISTS:
            given = call.args[0] if call.args else None
            pattern = str(given.value) if isinstance(given, ast.Constant) else ""
            # yolov9 5b1ea9a val.py:313: `save_dir.glob("labels/*.txt")` lists none of the pictures beside that folder.
            folders = takewhile(lambda part: not _WILD.search(part), pattern.split("/")[:-1])
            return (*parts_of(owner, function), *folders), "**" in pattern or _METHODS[attr]
    return None


def _read_whole(site: CallSite) -> Iterator[ast.expr]:
    """What a call reads as a folder with all that is in it: a score of pictures, another program that is told of it."""
    for position, keyword in sinks.FOLDER_READERS.get(site.name, ()):
        node = site.argument_node(position, keyword)
        if isinstance(node, ast.List | ast.Tuple):
            yield from node.elts
        elif node is not None:
            yield node
    if site.name in sinks.COMMANDS and site.node.args:
        yield from _told(site.node.args[0], site.function, _MAX_DEPTH)


def _told(command: ast.expr, function: Function, depth: int) -> Iterator[ast.expr]:
    """What is put into a command, through the variables that hold a part of it."""
    for word in put_into(command):
        values = assignments(function).get(word.id, ()) if isinstance(word, ast.Name) else ()
        text = values[0] if len(values) == 1 else None
        if depth and isinstance(text, ast.JoinedStr | ast.List) and " " in ast.unparse(text):
            yield from _told(text, function, depth - 1)
        elif word is not command or not isinstance(word, ast.Call):
            yield word


def _text(part: Hashable) -> str:
    """The constant parts of a component of a path."""
    match part:
        case str():
            return part
        case ("text", tuple(pieces)):
            return "".join(_text(p) for piece in pieces for p in piece)
    return ""


@remembered
def _plain(function: Function) -> list[Act]:
    """What a function that is not followed lists: it has nothing to do with ranks."""
    acts: list[Act] = []
    for node in own_nodes(function, ast.Call):
        dotted = dotted_name(node.func)
        module, _, last = dotted.rpartition(".")
        name = function.module.imports.get(dotted) or (
            f"{function.module.imports.get(module, module)}.{last}" if module else dotted
        )
        listed = _listed(node, name, function)
        if listed is not None:
            acts.append(Act(Does.LIST, listed[0], node, function.module, (), deep=listed[1]))
    return acts
