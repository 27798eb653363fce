"""One function followed forward, statement by statement: whose its variables are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import (
    assignments,
    comes_out,
    never_begun,
    own_nodes,
    target_names,
)
from distlint.analysis.questions.evaluating import evaluating_loops
from distlint.analysis.questions.shares.calls import called, pair
from distlint.analysis.questions.shares.reading import (
    element_of,
    field_name,
    holds,
    is_own_place,
    is_position,
    key_text,
    keys_of,
    path_of,
    picks_by_rank,
    takes_one_of_the_parts,
    takes_share,
    texts_of,
    unpacked,
    where_distributed,
    whose_attributes,
)
from distlint.analysis.questions.shares.values import (
    ALIKE,
    EMPTY_METRIC,
    PLAIN,
    UNKNOWN,
    WORLD,
    Held,
    Kind,
    Part,
    Source,
    combined,
    computed,
    explained,
    join,
    joined,
    met,
    plain,
)
from distlint.analysis.questions.training import training_loops
from distlint.knowledge import shares as tables
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.shares.interfaces import Known

_ROUNDS: Final = 2
"""How often a loop's body is followed: what it carries over is known the second time."""


class Flow:
    """A function with what its variables hold."""

    def __init__(self, shares: Known, function: Function, variables: dict[str, Held]) -> None:
        self.shares = shares
        self.function = function
        self.module = function.module
        self.variables = variables
        self.returned: Held | None = None
        self.yielded: Held | None = None
        self.left: list[dict[str, Held]] = []
        """The variables at each `return`."""
        self.filled: set[str] = set()
        """The variables that a collective has put its outcome into."""
        self.singled: frozenset[str] = frozenset()
        """The elements that a condition in force has picked by what they are: the others are something else."""
        self.keys: dict[str, str] = {}
        """The variables that go through the keys of a dict, with its name."""
        self.targets: list[ast.expr] = []
        """What the loops around bind, the innermost last."""
        self.holders: dict[str, frozenset[str]] = {}
        """The objects that were made of other variables, with these."""

    def run(self) -> Held:
        """Follow the body; what the function returns.

        Its variables at the end are those of all ways out: VAR dist.py, `allreduce`, which reduces in one arm,
        returns the handle, and returns None below.
        """
        if self.block(self.function.body) or not self.left:
            self.left.append(self.variables)
        self.variables = met(self.left)
        if self.function.is_generator:
            element = self.yielded or ALIKE
            return Held(element.part, element.source, element=element)
        return self.returned or ALIKE

    # -- statements ----------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> bool:
        """Follow statements; whether the next one is reached."""
        return all(self.statement(statement) for statement in body)

    def statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign(targets=targets, value=value):
                held = self.value(value)
                for target in targets:
                    self.bind(target, held)
                    self._remember_parts(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.value(value))
            case ast.AugAssign(target=ast.Name(id=name)) if name in never_begun(self.function):
                return False
            case ast.AugAssign():
                self._augment(node)
            case ast.Expr(value=value):
                self.value(value)
            case ast.Return(value=value):
                held = ALIKE if value is None else self._with_elements(value, self.value(value))
                self.returned = held if self.returned is None else join(self.returned, held)
                self.left.append(dict(self.variables))
                return False
            case ast.Raise() | ast.Continue() | ast.Break():
                return not isinstance(node, ast.Raise)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(test, body, orelse)
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                self._loop(node, target, self._gone_over(node, self._iterated(iterable)))
            case ast.While(test=test):
                self.value(test)
                self._loop(node, None, ALIKE)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    held = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, held)
                return self.block(body)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                return self._try(body, [h.body for h in handlers], orelse, final)
            case ast.Match(subject=subject, cases=cases):
                self.value(subject)
                return self._ways([case.body for case in cases] + [[]])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                nested = self.function.nested.get(name)
                if nested is not None:
                    self.variables[name] = Held(made=nested)
            case ast.Assert(test=test):
                self.value(test)
        return True

    def _augment(self, node: ast.AugAssign) -> None:
        """`total += loss`, `total /= steps`."""
        before, added = self.value(node.target), self.value(node.value)
        if added.is_share and isinstance(node.op, ast.Add):
            added = self.shares.summed(added, self.module, node)
            before = before.but(source=None) if before.is_share else before
        after = computed(before, node.op, added)
        if isinstance(node.op, ast.Div):
            after = self.shares.averaged(after, self.module, node)
        kept = before.kind is Kind.PLAIN and after.kind is Kind.OTHER
        target: ast.expr = node.target
        if isinstance(target, ast.Attribute) and target.attr == "data":
            target = (
                target.value
            )  # NVAE 9fc1a28 utils.py:286: `t.data /= size`, behind `all_reduce(t.data)`
        self.bind(target, after.but(kind=Kind.PLAIN) if kept else after)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> bool:
        self.value(test)
        match self._decided(test):
            case True:
                return self.block(body)
            case False:
                return self.block(orelse)
        before = self.singled
        self.singled |= _asked_what_it_is(test)
        if picks_by_rank(test):
            self._pick(test)
        on = self._ways([body, orelse], self._empty_unless(test))
        self.singled = before
        if body and isinstance(body[-1], ast.Continue) and _leaves_others(test):
            self._pick(test)
        return on

    def _pick(self, test: ast.expr) -> None:
        """Let what the loop around binds be this rank's, where a condition picks by the rank."""
        source = Source(test, self.module, "each rank takes its part here")
        for name in target_names(self.targets[-1]) if self.targets else ():
            held = self.variables.get(name, ALIKE)
            if held.part is Part.ALIKE:
                self.variables[name] = Held(Part.SHARE, source)

    def _decided(self, test: ast.expr) -> bool | None:
        """What a condition is where several ranks run and variables hold what was written out."""
        return comes_out(test, self._part_decided)

    def _part_decided(self, test: ast.expr) -> bool | None:
        match test:
            case ast.Compare(
                left=ast.Name(id=name), ops=[operator], comparators=[ast.expr() as other]
            ) if name in self.variables:
                left, right = self.variables[name].const, self.value(other).const
                if isinstance(left, int) and isinstance(right, int):
                    return holds(left, operator, right)
                if isinstance(left, str) and isinstance(right, str):
                    return holds(left, operator, right)
            case ast.Name(id=name) if name in self.variables:
                # What a caller says of this call: CLIP-ViL (NVlabs/DoRA 7e2f10a) src/tasks/gqa.py:78 makes the loader of
                # the evaluation with `distributed=False`.
                if isinstance(said := self.variables[name].const, bool):
                    return said
        return where_distributed(test, self.shares.shared)

    def _empty_unless(self, test: ast.expr) -> str:
        """The metric of which a condition asks whether it holds anything; "" for others.

        AgentTuning e33a45d AgentBench.old/src/tasks/webshop/baseline_models/train_choice_il.py:572: `if len(metric) > 0:
        metric.compute()`, between the training and the evaluation.
        """
        match test:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[asked]),
                ops=[ast.Gt() | ast.NotEq()],
                comparators=[ast.Constant(value=0)],
            ):
                path = path_of(asked)
                held = self.variables.get(path)
                return path if held is not None and held.made == EMPTY_METRIC.made else ""
        return ""

    def _ways(self, bodies: list[list[ast.stmt]], empty: str = "") -> bool:
        """Follow several ways from here, and join what they leave; on all but the first, the metric `empty` is so."""
        before, after = self.variables, []
        for number, body in enumerate(bodies):
            self.variables = dict(before)
            if empty and number:
                self.put(empty, EMPTY_METRIC)
            if self.block(body):
                after.append(self.variables)
        self.variables = _forgotten(before, after) if after else before
        return bool(after)

    def _try(
        self,
        body: list[ast.stmt],
        handlers: list[list[ast.stmt]],
        orelse: list[ast.stmt],
        final: list[ast.stmt],
    ) -> bool:
        on = self._ways([[*body, *orelse], *handlers])
        return self.block(final) and on

    def _loop(self, node: ast.stmt, target: ast.expr | None, element: Held) -> None:
        turns = [element] * _ROUNDS
        if isinstance(node, ast.For):
            self.keys |= keys_of(node.target, node.iter)
            turns = texts_of(node.iter) or turns
        for each in turns:
            before = dict(self.variables)
            if target is not None:
                self.bind(target, each)
                self.targets.append(target)
            self.block(node.body)  # type: ignore[attr-defined]
            if target is not None:
                self.targets.pop()
                self._keep_changed(node.iter, target, each)  # type: ignore[attr-defined]
            self.variables = _forgotten(before, [before, self.variables])
            if each is element and all(
                held.part is before[name].part
                for name, held in self.variables.items()
                if name in before
            ):
                break  # nothing is carried over that was not known before
        if isinstance(node, ast.For) and target is not None and self._has_filled(target):
            self._forget_elements(node.iter)
        self.block(node.orelse)  # type: ignore[attr-defined]

    def _keep_changed(self, iterable: ast.expr, target: ast.expr, element: Held) -> None:
        """Let a list of objects hold what a loop over it has put into each: `for meter in meters: meter.update(loss)`.

        LCASAFormer 4e5b3cb train_dist.py:449, and the loop below it reads what each has come to.
        """
        match iterable, target:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner]), ast.Tuple(elts=[_, each]):
                iterable, target = inner, each
                element = element.items[1] if element.items else element
        after = self.variables.get(path_of(target))
        around = path_of(iterable)
        if around and after is not None and after.is_share and isinstance(after.made, Class):
            before = self.variables.get(around, ALIKE)
            if element.part is Part.ALIKE and element.made is after.made:
                self.variables[around] = before.but(
                    part=Part.SHARE, source=after.source, element=after
                )

    def _has_filled(self, target: ast.expr) -> bool:
        """Whether a collective has put its outcome into what a loop binds."""
        return not self.filled.isdisjoint(target_names(target))

    def _remember_parts(self, target: ast.expr, value: ast.expr) -> None:
        """Remember what an object was made of: `progress = ProgressMeter(steps, [loss_meter, *meters.values()])`."""
        path = path_of(target)
        if path and isinstance(value, ast.Call):
            given = (*value.args, *(k.value for k in value.keywords))
            names = {n.id for each in given for n in walk(each, ast.Name)}
            self.holders[path] = frozenset(names)

    def forget_parts(self, holder: str) -> None:
        """Take note that an object puts together what it was made of.

        LaViLa 8002b5a main_pretrain.py:606, `progress.synchronize()`: of the meters whose means are returned.
        """
        for name in self.holders.get(holder, ()):
            held = self.variables.get(name)
            if held is not None and held.is_share and held.kind is not Kind.LOADER:
                self.put(name, UNKNOWN)

    def _forget_elements(self, iterable: ast.expr) -> None:
        """Take note that a loop has put the outcome of a collective into each element, in place.

        SlowFast slowfast/utils/distributed.py:56: `for tensor in tensors: dist.all_reduce(tensor)`.
        """
        whole = whose_attributes(iterable)
        if whole:
            for name in [n for n in self.variables if n.startswith(f"{whole}.")]:
                self.put(name, UNKNOWN)
            return
        match iterable:
            case (
                ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Call(func=ast.Name(), args=parts)
            ):
                pass
            case ast.Call(func=ast.Attribute(attr="values" | "items", value=owner)):
                parts = [owner]
            case _:
                parts = [iterable]
        for path in map(path_of, parts):
            if path:
                self.put(path, UNKNOWN)

    def _gone_over(self, loop: ast.For | ast.AsyncFor, element: Held) -> Held:
        """What a loop over batches gets, with what it does with them: whether it trains, or evaluates."""
        parts = (part for part in walk(loop.iter) if isinstance(part, ast.expr))
        if not (element.is_share and any(self.shares.of(p).kind is Kind.LOADER for p in parts)):
            return element
        if loop in training_loops(self.function):
            return self.shares.gone_over(element, trained=True)
        if loop in evaluating_loops(self.shares.live, self.function):
            return self.shares.gone_over(element, trained=False)
        return element

    def _iterated(self, iterable: ast.expr) -> Held:
        """What a loop gets from what it iterates over.

        Loaders go through helpers of all kinds: `logger.log_every(loader, 10)`, `Prefetcher(loader)`.
        """
        found = element_of(self.value(iterable))
        owner = whose_attributes(iterable)
        own = [v for n, v in self.variables.items() if owner and n.startswith(f"{owner}.")]
        if own:
            return joined([found, *own])
        if found.part in (Part.ALIKE, Part.UNKNOWN) and isinstance(iterable, ast.Call):
            for argument in iterable.args:
                held = self.shares.of(argument)
                if held.kind is Kind.LOADER and held.is_share:
                    found = element_of(held)
                    return pair(found) if last_name(iterable) == "enumerate" else found
        return found

    # -- variables -----------------------------------------------------------------------------------

    def bind(self, target: ast.expr, value: Held) -> None:
        """Put a value into a target of an assignment."""
        match target:
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                starred = any(isinstance(t, ast.Starred) for t in targets)
                items = None if starred else unpacked(value, len(targets))
                for number, each in enumerate(targets):
                    self.bind(each, items[number] if items else element_of(value))
            case ast.Starred(value=inner):
                self.bind(inner, plain(value))
            case _:
                path = path_of(target)
                if path:
                    self.put(path, value)
                if isinstance(target, ast.Attribute):
                    self._give_data(target.value, value)
                if isinstance(target, ast.Subscript) and not (
                    self.singled and ast.unparse(target) in self.singled
                ):
                    self._keep_under(target, self.shares.summed(value, self.module, target))

    def _give_data(self, owner: ast.expr, value: Held) -> None:
        """Let a data set that is given a rank's part of the rows be a share.

        finetrainers trainer/sft_trainer/trainer.py:599: `dataset._data = split_dataset_by_node(dataset._data, …)`.
        """
        name = path_of(owner)
        if (
            value.is_share
            and value.kind is Kind.LOADER
            and "data" in name
            and name in self.variables
        ):
            before = self.variables[name]
            self.variables[name] = before.but(
                part=Part.SHARE, source=value.source, kind=Kind.LOADER
            )

    def put(self, path: str, value: Held) -> None:
        """Let a variable hold a value, and forget what was known of its parts."""
        for name in [n for n in self.variables if n.startswith((f"{path}.", f"{path}["))]:
            del self.variables[name]
        self.variables[path] = value

    def _keep_under(self, target: ast.Subscript, value: Held) -> None:
        """Put a value under a key; what was there before is in the container no more.

        semantic-segmentation 7726b14 utils/misc.py:109: `iou_per_scale[1.0]` is reduced, and put back.
        """
        path, before = path_of(target.value), self.value(target.value)
        match target.slice:
            case (ast.Constant() | ast.JoinedStr() | ast.BinOp()) as key if (
                path and explained(before) and key_text(key) is not None
            ):
                assert before.fields is not None
                fields = {**before.fields, str(key_text(key)): value}
                made = combined(fields.values())
                self.variables[path] = before.but(
                    part=made.part, source=made.source, ended=made.ended, fields=fields
                )
            case index if before.part in (Part.WHOLE, Part.PADDED) and (
                is_own_place(index) or (value.learned and is_position(index))
            ):
                # Its own tensor, which has a gradient, in the place of the copy that was gathered: also that of one part
                # of its batch, magiCARP 777a578 carp/pytorch/model/architectures/carp.py:93.
                if path:
                    self.put(path, Held(before.part, before.source, before.kind, learned=True))
            case ast.Name(id=key) if path and self.keys.get(key) == path:
                # `for k in logs: logs[k] = …`: all of it
                fields = dict.fromkeys(before.fields or (), value)
                self.put(path, value.but(kind=Kind.PLAIN, fields=fields or None))
            case ast.Name() if (
                path
                and value.part in (Part.WHOLE, Part.PADDED)
                and id(target) in _put_back(self.function)
            ):
                self.put(path, value.but(kind=Kind.PLAIN))
            case _:
                self.keep(target.value, value)

    def keep(self, container: ast.expr, value: Held) -> None:
        """Put a value into what a container holds."""
        path = path_of(container)
        if path:
            before = self.value(container)
            part = combined((before, value))
            element = before.element if before.element and before.element.made else None
            if element is not None and element.made is value.made:
                element = join(element, value)  # `meters[0].update(loss)`, of a list of meters
            self.variables[path] = before.but(
                part=part.part,
                source=part.source,
                ended=part.ended,
                items=None,
                element=element,
            )

    def _with_elements(self, node: ast.expr, held: Held) -> Held:
        """What a function returns, with what it has put under keys that are written out, over what was there.

        transformer-sequential 9650fc9 distributed.py:70: `stat_val["loss"] = total[1].item() / world_size`, of a dict that
        it was given.
        """
        if isinstance(node, ast.Tuple) and held.items is not None:
            pairs = zip(node.elts, held.items, strict=True)
            return held.but(items=tuple(self._with_elements(*pair) for pair in pairs))
        path = path_of(node)
        if not path or held.fields is not None or held.part is Part.ALIKE:
            return held
        known = {
            field_name(ast.literal_eval(key)): value
            for name, value in self.variables.items()
            if name.startswith(f"{path}[") and name.endswith("]")
            for key in (name[len(path) + 1 : -1],)
            if "[" not in key
        }
        return held.but(fields=known) if known else held

    # -- expressions ---------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Held:
        """Whose an expression is; remembered for the rules."""
        held = self._value(node)
        self.shares.see(node, held, self.function)
        return held

    def _value(self, node: ast.expr) -> Held:
        match node:
            case ast.Constant(value=bool() | int() | str() as value):
                return PLAIN.but(const=value)
            case ast.Constant():
                return PLAIN
            case ast.Name(id=name):
                found = self.variables.get(name)
                found = found or self.shares.global_of(self.function, name)
                if found is not None:
                    return found
                return WORLD if name in tables.WORLD_NAMES else ALIKE
            case ast.Attribute(value=owner, attr=attr):
                path = path_of(node)
                base = self.value(owner)
                found = self.variables.get(path) if path else None
                return found if found is not None else self.attribute(base, attr)
            case ast.Subscript(value=owner, slice=index):
                return self._element(node, owner, index)
            case ast.Call():
                return called(self, node)
            case ast.BinOp(left=left, op=operator, right=right):
                made = computed(
                    plain_but_world(self.value(left)), operator, plain_but_world(self.value(right))
                )
                divided = isinstance(operator, ast.Div)
                return self.shares.averaged(made, self.module, node) if divided else made
            case ast.UnaryOp(op=operation, operand=operand):
                held = self.value(operand)
                if isinstance(operation, ast.USub) and isinstance(held.const, int):
                    return held.but(const=-held.const)
                return plain(held)
            case ast.BoolOp(values=values):
                return joined([self.value(v) for v in values])  # one of them: `resumed or loader`
            case ast.Compare(left=left, comparators=others):
                return combined(self.value(v) for v in (left, *others))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.value(test)
                yes, no = self.value(body), self.value(orelse)
                choice = self._decided(test)
                return join(yes, no) if choice is None else yes if choice else no
            case ast.JoinedStr(values=values):
                return combined(self.value(v) for v in values)
            case (
                ast.FormattedValue(value=value) | ast.Await(value=value) | ast.Starred(value=value)
            ):
                return self.value(value)
            case ast.NamedExpr(target=target, value=value):
                held = self.value(value)
                self.bind(target, held)
                return held
            case ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
                held = self.value(value)
                held = element_of(held) if isinstance(node, ast.YieldFrom) else held
                self.yielded = held if self.yielded is None else join(self.yielded, held)
                return ALIKE
        return self._container(node)

    def _container(self, node: ast.expr) -> Held:
        """A list, dict or comprehension; nothing is known of other expressions."""
        match node:
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                items = tuple(self.value(e) for e in elements)
                made = combined(items)
                starred = any(isinstance(e, ast.Starred) for e in elements)
                return made.but(kind=Kind.PLAIN, items=None if starred else items or None)
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values)
            case (
                ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element)
            ):
                return self._comprehension(node.generators, element)
            case ast.DictComp(
                key=key,
                value=element,
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=name), value]),
                        iter=ast.Call(func=ast.Attribute(attr="items", value=owner), args=[]),
                    )
                ],
            ):
                made = self._comprehension(node.generators, element)
                fields = self._renamed(key, name, value, element, self.value(owner).fields or {})
                return made.but(fields=fields, element=None) if fields else made
            case ast.DictComp(value=element):
                return self._comprehension(node.generators, element)
        return ALIKE

    def attribute(self, base: Held, attr: str) -> Held:
        """An attribute of a value, where nothing was assigned to it."""
        if attr in tables.WORLD_NAMES:
            return WORLD
        if base.fields is not None and attr in base.fields:
            return base.fields[attr]
        own = self.shares.attribute_of(base, attr)
        if own is not None:
            return own
        loader = self.shares.loader_named(attr) if base.part is Part.ALIKE else None
        if loader is not None:
            return loader
        if attr in tables.NOT_DATA or attr in tables.OF_THE_WHOLE_SET:
            return ALIKE
        if base.kind is Kind.LOADER:
            return base if "sampler" in attr or "loader" in attr else ALIKE
        # Of another class than its owner: UniAfford 0b457f7 model/pointcept/engines/hooks/evaluator.py:44, the settings of the
        # trainer in a method of an evaluator, which are no meter.
        inner = plain(base)
        return inner.but(made=None) if isinstance(inner.made, Class) and attr != "module" else inner

    def _element(self, node: ast.Subscript, owner: ast.expr, index: ast.expr) -> Held:
        base, at = self.value(owner), self.value(index)
        if isinstance(index, ast.Name) and isinstance(at.const, str):
            # SinSR f173549 trainer.py:776: `self.dataloaders[phase]`, of a `phase` that is "val".
            index = ast.copy_location(ast.Constant(at.const), index)
        path = path_of(ast.Subscript(owner, index))
        found = self.variables.get(path) if path else None
        if found is not None:
            return found
        if at.is_share and isinstance(index, ast.Name) and base.part is Part.ALIKE:
            return Held(Part.SHARE, at.source)  # `samples[i]`, of an `i` that is this rank's
        match index:
            case ast.Constant(value=int() as number) if base.items is not None:
                return base.items[number] if -len(base.items) <= number < len(base.items) else ALIKE
            case ast.Constant(value=key) if base.fields is not None:
                return base.fields.get(field_name(key), plain(base))
            case ast.Slice() if base.part is Part.ALIKE and takes_share(index):
                text = "each rank takes its part here"
                return Held(Part.SHARE, Source(node, self.module, text), Kind.LOADER)
            case ast.Slice():
                return base.but(items=None)
        if base.part is Part.ALIKE and takes_one_of_the_parts(
            owner, index, assignments(self.function)
        ):
            # MONAI GenerativeModels 7428fce tutorials/generative/distributed_training/ddpm_training_ddp.py:105.
            text = "each rank takes its part here"
            return Held(Part.SHARE, Source(node, self.module, text), Kind.LOADER)
        if base.fields and all(each.kind is Kind.LOADER for each in base.fields.values()):
            return joined(base.fields.values())  # `loaders[phase]`
        return element_of(base) if base.kind is not Kind.LOADER else plain(base)

    def _dict(self, keys: list[ast.expr | None], values: list[ast.expr]) -> Held:
        fields: dict[str, Held] = {}
        held, known = [], True
        for key, value in zip(keys, values, strict=True):
            each = self.value(value)
            held.append(each)
            name = key_text(key)
            if name is not None:
                fields[name] = each
            elif key is None and explained(each):
                fields.update(each.fields or {})  # `{**common, "sampler": sampler}`
            else:
                known = False
        made = combined(held)
        return made.but(kind=Kind.PLAIN, fields=fields if known else None)

    def _renamed(
        self,
        key: ast.expr,
        name: str,
        target: ast.expr,
        element: ast.expr,
        given: Mapping[str, Held],
    ) -> dict[str, Held]:
        """What `{f"val_{k}": f(v) for k, v in stats.items()}` holds under each key; empty where the keys are not known."""
        fields: dict[str, Held] = {}
        outer = self.variables
        for known, held in given.items():
            text = key_text(key, (name, known))
            if text is None:
                return {}
            self.variables = dict(outer)
            self.bind(target, held)
            fields[text] = self._value(element)
        self.variables = outer
        return fields

    def _comprehension(self, generators: list[ast.comprehension], element: ast.expr) -> Held:
        outer = self.variables
        self.variables = dict(outer)
        for generator in generators:
            self.bind(generator.target, self._iterated(generator.iter))
            for test in generator.ifs:
                self.value(test)
                if picks_by_rank(test):
                    self.targets.append(generator.target)
                    self._pick(test)
                    self.targets.pop()
        made = self.value(element)
        self.variables = outer
        for generator in generators:
            if self._has_filled(generator.target):  # `[dist.all_reduce(x) for x in (loss, count)]`
                self._forget_elements(generator.iter)
        return Held(made.part, made.source, Kind.PLAIN, element=made, ended=made.ended)


def _forgotten(before: dict[str, Held], ways: list[dict[str, Held]]) -> dict[str, Held]:
    """The variables where ways meet, without what was known before of parts of which one way has lost sight.

    `for name in meters: meters[name].reduce()`: of `meters["loss"]` is known what is known of all meters.
    """
    found = met(ways)
    for way in ways:
        for name in before.keys() - way.keys():
            found.pop(name, None)
    return found


def _leaves_others(test: ast.expr) -> bool:
    """Whether what comes behind a `continue` under a condition is this rank's: `if i % world_size != rank: continue`."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(picks_by_rank(each, False) for each in values)
    return picks_by_rank(test, False)


def _asked_what_it_is(test: ast.expr) -> frozenset[str]:
    """The elements whose class a condition asks for: `isinstance(objects[i], DataLoader)`.

    accelerate 1.15.0 accelerator.py:2425: of the objects that are prepared, the loaders are divided, the model is not.
    """
    return frozenset(
        ast.unparse(node.args[0])
        for node in walk(test, ast.Call)
        if last_name(node) == "isinstance" and node.args and isinstance(node.args[0], ast.Subscript)
    )


def plain_but_world(value: Held) -> Held:
    """An operand: numbers of ranks and of batches keep what they are."""
    return value if value.kind in (Kind.WORLD, Kind.LENGTH) else plain(value)


@remembered
def _put_back(function: Function) -> frozenset[int]:
    """The places in which a loop puts what it has made of what was there, by the identity of their nodes.

    WF-VAE d858bee scripts/recon_video.py:120: `for i in range(8): sums[i] = accelerator.gather_for_metrics(sums[i])`.
    """
    return frozenset(
        id(target)
        for loop in own_nodes(function, ast.For)
        for statement in loop.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Subscript)
        and ast.unparse(target.slice) == ast.unparse(loop.target)
        and any(
            ast.unparse(part) == ast.unparse(target)
            for part in walk(statement.value, ast.Subscript)
        )
    )
