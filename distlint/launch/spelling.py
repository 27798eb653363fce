"""Names that nobody reads, each with the known one that it resembles."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence


def nearest(name: str, known: Collection[str], cutoff: float = 0.75) -> str | None:
    """The known name that `name` is a misspelling of, or the end of, if there is one."""
    longer = [one for one in sorted(known) if one.endswith(f"_{name}")]
    if longer:
        return longer[0]
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def named(unknown: Sequence[str], known: Collection[str]) -> str:
    """`key a (did you mean b?)`, `keys a, b`."""
    said = []
    for name in unknown:
        near = nearest(name, known)
        said.append(f"{name} (did you mean {near}?)" if near else name)
    return ("key " if len(said) == 1 else "keys ") + ", ".join(said)
