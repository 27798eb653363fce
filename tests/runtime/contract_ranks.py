"""What a rank does to run contracts: one after the other, each with its outcome in a file."""

from __future__ import annotations

import time
import traceback
from pathlib import Path

import torch
import torch.distributed as dist

from distlint.hardware.contracts import ALL, Context


def run_contracts(names: list[str], scratch: str, reports: str) -> None:
    """Runs the named contracts in the order of `ALL`; stops at the first that fails here.

    Each leaves ``reports/NAME.RANK``: ``ok``, ``skip: why``, or a traceback.
    """
    rank = dist.get_rank()
    for contract in ALL:
        if contract.name not in names:
            continue
        place = Path(scratch) / contract.name
        place.mkdir(exist_ok=True)
        context = Context(
            rank, dist.get_world_size(), rank, torch.device("cpu"), dist.get_backend(), place
        )
        report = Path(reports) / f"{contract.name}.{rank}"
        if (why := contract.unmet(context)) is not None:
            report.write_text(f"skip: {why}")
            continue
        start = time.perf_counter()
        try:
            contract.run(context)
        except BaseException:
            report.write_text(traceback.format_exc())
            raise
        report.write_text(f"ok {time.perf_counter() - start:.2f}")
