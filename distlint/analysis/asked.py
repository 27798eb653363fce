"""The model as the rules of a session ask it: each check takes over what the last one was told (`ledger`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distlint.analysis.interpreter.asking import AskedProgram
from distlint.analysis.ledger import Ledger, asked_always, same
from distlint.analysis.model import Model
from distlint.analysis.program.memory import Memory, called, recall

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.live.summaries import FunctionSummaries
    from distlint.analysis.program.definitions import Function, Module
    from distlint.launch.project import LaunchFiles


class AskedModel(Model):
    """A model that notes who asks for what."""

    def __init__(self, solved: Model, ledger: Ledger[AskedModel]) -> None:
        self.solved = solved
        self.ledger = ledger
        self.knowledge = solved.knowledge
        self.problems = solved.problems
        self.memory = _AskedMemory(ledger)
        self.program = AskedProgram(_Asking(ledger))  # type: ignore[arg-type]
        self.summaries = _AskedRuns(ledger)  # type: ignore[assignment]
        self._summaries = _AskedLive(ledger, None)  # type: ignore[assignment]
        # A function whose runs are those of the last check keeps what was found of them.
        known, live = ledger.runs, solved._summaries
        live.update(
            {f: known[f] for f, runs in live.items() if f in known and same(known[f], runs)}
        )
        ledger.runs = dict(live)
        ledger.begin(self)

    def answer(self, question: Callable[..., Any]) -> Any:
        """What a question finds in this program."""
        return self.ledger.ask(_answer, question)

    @property
    def modules(self) -> Iterator[Module]:
        """The modules on which findings are reported."""
        return iter(self.ledger.ask(_reported))

    @property
    def launch(self) -> LaunchFiles:
        """The scripts and configurations beside the code."""
        found: LaunchFiles = self.ledger.ask(_launch)
        return found

    @property
    def graphs(self) -> Any:  # type: ignore[override]
        """The decision graphs of the runs, which each check makes anew."""
        return self.ledger.ask(_graphs)

    @property
    def may_shard(self) -> bool:
        """Whether the program, or a script or configuration beside it, speaks of FSDP, DeepSpeed or the like."""
        found: bool = self.ledger.ask(_whole, Model.may_shard)
        return found

    @property
    def alone(self) -> Any:
        """The functions that only programs of one process run."""
        return _AskedSet(self.ledger, Model.alone)

    @property
    def joint_entries(self) -> Any:
        """What shows that several ranks enter a function together, where something does."""
        return _AskedTable(self.ledger, Model.joint_entries)

    @property
    def callers(self) -> Any:
        """The calls that rank 0 and other ranks make together, by the function that is called."""
        return _AskedTable(self.ledger, Model.callers)

    @property
    def of_several(self) -> Any:
        """The live runs without those that only programs of one process lead to."""
        return self.ledger.ask(_of_several)

    @property
    def _distributed(self) -> Any:
        return _AskedSet(self.ledger, Model._distributed)

    @property
    def _calls_by_node(self) -> Any:
        return _AskedTable(self.ledger, Model._calls_by_node)

    @property
    def _paths(self) -> Any:
        return self.ledger.ask(_whole, Model._paths)

    @property
    def _divergences(self) -> Any:
        return self.ledger.ask(_divergences)


# The questions. `asked_always` marks those behind which no other stands.


def _answer(model: AskedModel, question: Callable[..., Any]) -> Any:
    return question(model)


def _of_model(model: AskedModel, function: Callable[..., Any], key: tuple[Any, ...]) -> Any:
    return called(function, model, key)


def _of_program(model: AskedModel, function: Callable[..., Any], key: tuple[Any, ...]) -> Any:
    return called(function, model.program, key)


@asked_always
def _told(model: AskedModel, question: Callable[..., Any], *about: Any) -> Any:
    """What the program says."""
    return question(model.solved.program, *about)


@asked_always
def _reported(model: AskedModel) -> tuple[Module, ...]:
    return tuple(model.solved.modules)


@asked_always
def _launch(model: AskedModel) -> LaunchFiles:
    return model.solved.launch


def _knowing_alone(model: AskedModel) -> Model:
    """The model of this check, with what is known of its functions of one process."""
    model.solved.__dict__["alone"] = model.ledger.ask(_whole, Model.alone)
    return model.solved


@asked_always
def _graphs(model: AskedModel) -> Any:
    return _knowing_alone(model).graphs


@asked_always
def _divergences(model: AskedModel) -> Any:
    return _knowing_alone(model)._divergences


@asked_always
def _of_several(model: AskedModel) -> Any:
    return _knowing_alone(model).of_several


def _whole(model: AskedModel, found: cached_property[Any]) -> Any:
    return found.func(model)


@asked_always
def _runs(model: AskedModel) -> Any:
    return model.solved._summaries


@asked_always
def _runs_of(model: AskedModel, function: Function) -> FunctionSummaries | None:
    return model.solved._summaries.get(function)


def _entry(model: AskedModel, table: Any, key: Any) -> Any:
    return model.ledger.ask(_whole, table).get(key)


def _holds(model: AskedModel, table: Any, key: Any) -> bool:
    return key in model.ledger.ask(_whole, table)


@asked_always
def _class_named(model: AskedModel, name: str) -> Any:
    return model.solved.summaries.classes.get(name)


@asked_always
def _is_plain(model: AskedModel, *about: Any) -> bool:
    return model.solved.summaries.is_plain(*about)


@asked_always
def _signals(model: AskedModel) -> Any:
    return model.solved.summaries.signals


# What stands between the rules and what they ask.


class _Asking:
    """The program, for `AskedProgram`."""

    def __init__(self, ledger: Ledger[AskedModel]) -> None:
        self._ledger = ledger

    def ask_once(self, _: bool, question: Callable[..., Any], *about: Any) -> Any:
        if question is recall:
            return self._ledger.ask(_of_program, *about)
        return self._ledger.ask(_told, question, *about)


class _AskedMemory(Memory):
    """What is remembered of the model, as `remembered` looks it up."""

    def __init__(self, ledger: Ledger[AskedModel]) -> None:
        super().__init__()
        self._ledger = ledger

    def get(self, function: Any, _default: Any = None) -> Any:
        return self[function]

    def __missing__(self, function: Any) -> Any:
        found = self[function] = _AskedAnswers(self._ledger, function)
        return found


class _AskedAnswers(dict[Any, Any]):
    """What one function has found of the model: found now, where it has not."""

    def __init__(self, ledger: Ledger[AskedModel], function: Callable[..., Any]) -> None:
        super().__init__()
        self._ledger = ledger
        self._function = function

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        return self._ledger.ask(_of_model, self._function, key)


class _AskedTable(Mapping[Any, Any]):
    """A table of the whole program, of which an entry is asked, or all."""

    def __init__(self, ledger: Ledger[AskedModel], table: Any) -> None:
        self._ledger = ledger
        self._table = table

    def get(self, key: Any, default: Any = None) -> Any:
        found = self._entry(key)
        return default if found is None else found

    def __contains__(self, key: object) -> bool:
        return self._entry(key) is not None

    def __getitem__(self, key: Any) -> Any:
        found = self._entry(key)
        if found is None:
            raise KeyError(key)
        return found

    def _entry(self, key: Any) -> Any:
        return self._ledger.ask(_entry, self._table, key)

    def _all(self) -> Any:
        return self._ledger.ask(_whole, self._table)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> Any:
        return self._all().items()

    def values(self) -> Any:
        return self._all().values()


class _AskedLive(_AskedTable):
    """The live runs, by function."""

    def _entry(self, key: Any) -> Any:
        return self._ledger.ask(_runs_of, key)

    def _all(self) -> Any:
        return self._ledger.ask(_runs)


class _AskedSet(Set[Any]):
    """A set of the whole program, of which an element is asked, or all."""

    def __init__(self, ledger: Ledger[AskedModel], table: Any) -> None:
        self._ledger = ledger
        self._table = table

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return frozenset(it)

    def __contains__(self, key: object) -> bool:
        found: bool = self._ledger.ask(_holds, self._table, key)
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ledger.ask(_whole, self._table))

    def __len__(self) -> int:
        return len(self._ledger.ask(_whole, self._table))


class _AskedRuns:
    """What rules ask of the runs beside those that are live."""

    def __init__(self, ledger: Ledger[AskedModel]) -> None:
        self._ledger = ledger
        self.classes = _AskedClasses(ledger)

    def is_plain(self, function: Function, inputs: Iterable[Value]) -> bool:
        found: bool = self._ledger.ask(_is_plain, function, tuple(inputs))
        return found

    @property
    def signals(self) -> Any:
        return self._ledger.ask(_signals)


class _AskedClasses(dict[str, Any]):
    def __init__(self, ledger: Ledger[AskedModel]) -> None:
        super().__init__()
        self._ledger = ledger

    def get(self, name: str, _default: Any = None) -> Any:
        return self._ledger.ask(_class_named, name)
