"""The variables of one block of the abstract run, and what is known where two blocks meet."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import compress
from operator import is_not

from distlint.analysis.interpreter.values import UNKNOWN, Value, Variance, join


class Variables:
    """Values by name (`model`) and by attribute path (`model.config`).

    A path says what was stored there, until something that it starts with is bound anew.
    """

    __slots__ = ("_roots", "values")

    def __init__(self, values: dict[str, Value] | None = None) -> None:
        self.values: dict[str, Value] = values if values is not None else {}
        self._roots = {path.partition(".")[0] for path in self.values if "." in path}

    def get(self, path: str) -> Value | None:
        """What a name or path holds; None where nothing is known of it here."""
        return self.values.get(path)

    def __contains__(self, path: str) -> bool:
        return path in self.values

    def bind(self, name: str, value: Value) -> None:
        """A name holds another object from here on: what was known of paths that start with it ends."""
        self.values[name] = value
        self.forget_below(name)

    def refine(self, path: str, value: Value) -> None:
        """More is known of what a name or path holds; it is the same object."""
        self.values[path] = value

    def store(self, path: str, value: Value) -> None:
        """Note what a dotted path holds."""
        self.values[path] = value
        self._roots.add(path.partition(".")[0])

    def remove(self, path: str) -> None:
        """A name or path holds nothing any more."""
        self.values.pop(path, None)
        self.forget_below(path)

    def forget_below(self, path: str) -> None:
        """Let go of what was known of the paths that start with `path`."""
        if path.partition(".")[0] not in self._roots:
            return
        prefix = path + "."
        for name in [name for name in self.values if name.startswith(prefix)]:
            del self.values[name]

    def copy(self) -> Variables:
        """The same values, for a block that binds others."""
        new = Variables.__new__(Variables)
        new.values = dict(self.values)
        new._roots = set(self._roots)
        return new

    def merge(self, other: Variables, place: Hashable) -> Variables:
        """The variables where two blocks meet.

        A name that one block alone binds may still be read behind both; a path is known only where
        both know it, but for a flag that each rank sets for itself: it is one behind both. `place` numbers the values
        that differ.
        """
        if self is other:
            return self
        mine, theirs = self.values, other.values
        merged = dict(mine)
        for name in mine.keys() - theirs.keys():
            if "." in name:
                own = _own_flag(mine[name], place)
                if own is None:
                    del merged[name]
                else:
                    merged[name] = own
        # Most of hundreds are the same object on both sides: told apart without a step of the interpreter.
        other_objects = map(is_not, map(mine.get, theirs), theirs.values())
        for name, value in compress(theirs.items(), other_objects):
            known = mine.get(name)
            if known is not None:
                merged[name] = join(known, value, ("join", place, name))
            elif "." not in name:
                merged[name] = value
            elif (own := _own_flag(value, place)) is not None:
                merged[name] = own
        new = Variables.__new__(Variables)
        new.values = merged
        new._roots = self._roots | other._roots
        return new


def _own_flag(value: Value, place: Hashable) -> Value | None:
    """What a flag is behind a block of which each rank says for itself whether it sets it: `if late: self.stop = True`."""
    if value.variance is not Variance.RANK_LOCAL or not isinstance(value.const, bool):
        return None
    return value.replace(const=UNKNOWN, key=("flag", place, value.key))
