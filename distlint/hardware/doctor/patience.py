"""How much longer than on a free machine things may take here: limits are for what hangs, and a
machine that is busy is slow without hanging."""

from __future__ import annotations

import os

MOST = 3.0


def patience() -> float:
    """1 on a free machine; the load per core on a busy one, at most MOST."""
    if not hasattr(os, "getloadavg"):
        return 1.0
    try:
        load = os.getloadavg()[0]
    except OSError:
        return 1.0
    return min(MOST, max(1.0, load / (os.cpu_count() or 1)))
