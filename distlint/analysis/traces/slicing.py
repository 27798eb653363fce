"""Graphs without what does not count: what the comparison of one layer of events goes through."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from dataclasses import field

from distlint.analysis.interpreter.ir import CallSite, Known, Layer, Summary
from distlint.analysis.program.definitions import Function, Module, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.traces.graph import Graphs
from distlint.analysis.traces.nodes import (
    STOP,
    BranchNode,
    CallNode,
    End,
    EventNode,
    LoopNode,
    Node,
    own_nodes,
    reachable,
    ways_on,
)
from distlint.knowledge.wrappers import WRAPPERS
from distlint.nodes import walk
from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class _Questions:
    """What a part of one graph asks: symbols, loops with what they ask anew, and the graphs it calls."""

    symbols: set[Hashable] = field(default_factory=set)
    loops: dict[Hashable, frozenset[Hashable]] = field(default_factory=dict)
    called: set[Node] = field(default_factory=set)


class Slice:
    """Graphs without what does not count: other layers' events, calls and decisions that change nothing.

    Most of a training loop is of no interest to one comparison: rank 0 alone saves and logs there, under
    conditions of its own. Where all ways from a node meet again before anything counts, the comparison goes
    on from that meeting point at once.
    """

    def __init__(self, graphs: Graphs, layer: Layer, skip: frozenset[int]) -> None:
        self.graphs = graphs
        self.layer = layer
        self.skip = skip
        self._ahead: dict[Node, Node] = {}
        self._quiet: dict[tuple[Summary, Known], bool] = {}
        self._quiet_functions: dict[Function, bool] = {}
        self._asked: dict[
            Node, tuple[frozenset[Hashable], dict[Hashable, frozenset[Hashable]]]
        ] = {}
        self._own_asked: dict[Node, _Questions] = {}

    def counts(self, act: EventNode) -> bool:
        """Whether an event is one of this layer's, among all ranks, and not one to skip."""
        event = act.event
        return (
            event.layer <= self.layer
            and event.group is None
            and id(event.node) not in self.skip
            and not (event.site is not None and _bare(self.graphs, event.site))
        )

    def root(self, call: CallNode) -> Node:
        """Where the graph of a called function begins to count."""
        return self.ahead(self.graphs.root(call.summary, call.known, call.passed))

    def ahead(self, node: Node) -> Node:
        """The node itself where it counts, else the first that all ways from it come to."""
        if node not in self._ahead:
            self._ahead.update(self._meetings(node))
        return self._ahead[node]

    def _matters(self, node: Node) -> bool:
        match node:
            case EventNode():
                return self.counts(node)
            case CallNode():
                return not self._quiet_call(node)
            case End():
                return True
        return False

    def _quiet_call(self, call: CallNode) -> bool:
        """Whether nothing in a call counts, on no class of ranks: who calls it does not matter.

        What one class alone does inside a function is reported there; its callers all call it.
        """
        function = call.summary.function
        if function not in self._quiet_functions:
            self._quiet_functions[function] = all(
                self._quiet_run(summary, ()) for summary in self.graphs.summaries.get(function, ())
            )
        return self._quiet_functions[function] and self._quiet_run(call.summary, call.known)

    def _quiet_run(self, summary: Summary, known: Known) -> bool:
        """Whether no event that counts and no end of the process can be reached, through any calls."""
        key = summary, known
        if key in self._quiet:
            return self._quiet[key]
        seen: set[tuple[Summary, Known]] = set()
        stack = [key]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            quiet = self._quiet.get(current)
            if quiet is None:
                for node in self.graphs.own_nodes(*current):
                    if node is STOP or (isinstance(node, EventNode) and self.counts(node)):
                        quiet = False
                        break
                    if isinstance(node, CallNode):
                        stack.append((node.summary, node.known))
            if quiet is False:
                self._quiet[key] = self._quiet[current] = False
                return False
        self._quiet.update(dict.fromkeys(seen, True))
        return True

    def _meetings(self, root: Node) -> dict[Node, Node]:
        """For every node below: the last node that all ways from it meet in before anything counts.

        The post-dominators of the graph in which each node that counts is an end.
        """
        nodes = own_nodes(root)
        ways = {n: () if n in self._ahead or self._matters(n) else ways_on(n) for n in nodes}
        before: dict[Node, list[Node]] = {n: [] for n in nodes}
        for node, following in ways.items():
            for each in following:
                before[each].append(node)
        order = _from_the_ends([n for n in nodes if not ways[n]], before)
        place = {node: index for index, node in enumerate(order)}
        met: dict[Node, Node | None] = {n: None for n in order if not ways[n]}
        changed = True
        while changed:
            changed = False
            for node in order:
                known = [n for n in ways[node] if n in met]
                if not known:
                    continue
                meeting: Node | None = known[0]
                for other in known[1:]:
                    meeting = _meet(meeting, other, met, place)
                if node not in met or met[node] is not meeting:
                    met[node] = meeting
                    changed = True
        last: dict[Node, Node] = {}
        for node in order:
            further = met[node]
            last[node] = self._ahead.get(node, node) if further is None else last[further]
            if isinstance(node, LoopNode) and node.exit is None and _comes_back(node, last[node]):
                # A condition in a loop without end: what it asks is asked anew where the loop begins anew.
                last[node] = node
        # What never comes to an end, round and round without an event, is left as it stands.
        return {node: last.get(node, node) for node in nodes}

    def _own(self, root: Node) -> list[Node]:
        """The nodes that can be reached from one that counts, not those of the functions called."""
        return reachable(root, lambda node: [self.ahead(n) for n in ways_on(node)])

    def nodes(self, root: Node) -> Iterator[Node]:
        """Every node that can be reached, through calls; each once."""
        seen: set[Node] = set()
        work = [self.ahead(root)]
        entered = set(work)
        for start in work:
            for node in self._own(start):
                if node not in seen:
                    seen.add(node)
                    yield node
                    if isinstance(node, CallNode):
                        inner = self.root(node)
                        if inner not in entered:
                            entered.add(inner)
                            work.append(inner)

    def symbols(self, root: Node) -> frozenset[Hashable]:
        """Every symbol and loop that a graph may ask, through calls."""
        return self._questions(root)[0]

    def loops(self, root: Node) -> dict[Hashable, frozenset[Hashable]]:
        """Every loop of a graph, through calls, with the symbols that it asks anew, by its key."""
        return self._questions(root)[1]

    def _questions(
        self, root: Node
    ) -> tuple[frozenset[Hashable], dict[Hashable, frozenset[Hashable]]]:
        root = self.ahead(root)
        found = self._asked.get(root)
        if found is None:
            symbols: set[Hashable] = set()
            loops: dict[Hashable, frozenset[Hashable]] = {}
            work = [root]
            entered = set(work)
            for start in work:
                own = self._own_questions(start)
                symbols |= own.symbols
                for key, volatile in own.loops.items():
                    loops[key] = loops.get(key, frozenset()) | volatile
                more = own.called - entered
                entered |= more
                work += more
            found = self._asked[root] = frozenset(symbols | loops.keys()), loops
        return found

    def _own_questions(self, root: Node) -> _Questions:
        """What is asked from a node on in its own graph: the same for all who call the function."""
        found = self._own_asked.get(root)
        if found is None:
            found = self._own_asked[root] = _Questions()
            for node in self._own(root):
                match node:
                    case BranchNode():
                        found.symbols.add(node.symbol)
                    case LoopNode(loop=loop):
                        known = found.loops.get(loop.key, frozenset())
                        found.loops[loop.key] = known | loop.volatile
                    case CallNode():
                        found.called.add(self.root(node))
        return found


@remembered
def _bare(_graphs: Graphs, site: CallSite) -> bool:
    """Whether a call stands where its model is not wrapped: in the other arm of a condition of the same
    words (open_lm open_lm/main.py:222, `state if args.fsdp else model.state_dict()`)."""
    asked = {
        (dotted_name(guard.node), guard.taken)
        for guard in site.guards
        if isinstance(guard.node, (ast.Name, ast.Attribute))
    }
    if not asked or site.receiver is None:
        return False
    return any(
        (name, not taken) in asked
        for wrap in site.receiver.wraps
        if WRAPPERS[wrap.kind].forward_collective
        for name, taken in _conditions(wrap.module, wrap.node)
    )


@remembered
def _conditions(module: Module, node: ast.AST) -> frozenset[tuple[str, bool]]:
    """The plain names that were asked around a node of a file, each with the arm that it stands in."""
    return frozenset(
        (dotted_name(branch.test), taken)
        for branch in walk(module.source.tree, ast.If)
        if isinstance(branch.test, (ast.Name, ast.Attribute))
        for arm, taken in ((branch.body, True), (branch.orelse, False))
        if any(inner is node for statement in arm for inner in walk(statement))
    )


def _comes_back(loop: LoopNode, node: Node) -> bool:
    """Whether a node stands in a loop without end: a way leads from there to its next turn."""
    return node is not loop and loop in own_nodes(node)


def _from_the_ends(ends: list[Node], before: dict[Node, list[Node]]) -> list[Node]:
    """The nodes that come to an end, each after those that follow it where loops allow it."""
    seen: set[Node] = set()
    done: list[Node] = []
    stack = [(node, False) for node in ends]
    while stack:
        node, left = stack.pop()
        if left:
            done.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(each, False) for each in before[node] if each not in seen]
    return done[::-1]


def _meet(
    first: Node | None, second: Node | None, met: dict[Node, Node | None], place: dict[Node, int]
) -> Node | None:
    """Where the ways from two nodes meet; None where they end apart."""
    while first is not second:
        if first is None or second is None:
            return None
        if place[first] > place[second]:
            first = met[first]
        else:
            second = met[second]
    return first


@remembered
def slice_of(graphs: Graphs, layer: Layer, skip: frozenset[int]) -> Slice:
    """What counts of all graphs for one layer of events, without those to skip."""
    return Slice(graphs, layer, skip)
