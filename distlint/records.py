"""`dataclass`, at a fifth of the price: a check makes more than two hundred of them before it reads a file.

The type checker sees `dataclasses.dataclass` and holds everybody to `frozen`. At run time the standard
library's would compile six functions for each frozen class (0.8 ms, 0.2 s in all); here only `__init__` is
compiled, what compares and shows is shared, and assignments are not refused a second time.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """A class with `__init__`, `__repr__` and, with `eq`, comparison and hash by its fields."""

        def made(cls: type) -> type:
            own = cls.__dict__
            kind = dataclasses.dataclass(cls, slots=slots, eq=False, repr=False)
            if "__repr__" not in own:
                kind.__repr__ = _shown
            if eq:
                _compare_by_fields(kind, own, frozen)
            return kind

        return made if cls is None else made(cls)


def _compare_by_fields(kind: Any, own: Any, frozen: bool) -> None:
    """Give `kind` the comparison, and the hash where it is `frozen`, that its body (`own`) does not define."""
    fields = dataclasses.fields(kind)
    values = _values([each.name for each in fields if each.compare])
    if "__eq__" not in own:

        def equal(self: Any, other: Any) -> Any:
            return (
                values(self) == values(other)
                if other.__class__ is self.__class__
                else NotImplemented
            )

        kind.__eq__ = equal
    if own.get("__hash__") is None:  # a body that defines `__eq__` alone has None
        hashed = _values(
            [each.name for each in fields if (each.compare if each.hash is None else each.hash)]
        )
        kind.__hash__ = (lambda self: hash(hashed(self))) if frozen else None


def _values(names: list[str]) -> Any:
    """The function that takes the fields of these names out of an object, as a tuple."""
    match names:
        case []:
            return lambda _: ()
        case [name]:
            one = attrgetter(name)
            return lambda self: (one(self),)
    return attrgetter(*names)


def _shown(self: Any) -> str:
    """`Kind(field=value)`, as the standard library writes it."""
    fields = [each.name for each in dataclasses.fields(self) if each.repr]
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
    return f"{type(self).__qualname__}({values})"
