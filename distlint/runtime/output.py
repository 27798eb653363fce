"""Printing once, not once per rank."""

from __future__ import annotations

from typing import Any

from .identity import rank


def print_on_main(*values: Any, **options: Any) -> None:
    """``print(*values, **options)`` on rank 0 and nothing elsewhere.

    Not collective: rank 0 alone may call it. Works uninitialised. Decides at each call.
    """
    if rank() == 0:
        print(*values, **options)
