"""What a rank of `distlint verify` does: forms the group, then runs contracts, noting each.

`python -m distlint.hardware.verify.rank_main NOTES SCRATCH BACKEND DEVICE NAME…`; `NOTES/RANK`
receives one JSON object a line: ``{"name", "state", "seconds", "text"}`` with the states ``formed``
(the group works; no name), ``begun``, ``held``, ``skipped`` and ``failed``.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from distlint.hardware import contracts
from distlint.proving.rank_main import die_with_parent

_GROUP_SECONDS = 60


def main() -> None:
    """Run the named contracts in the order of `contracts.ALL`; stops at the first that fails."""
    die_with_parent()
    notes, scratch, backend, device_name = sys.argv[1:5]
    names = frozenset(sys.argv[5:])
    rank = int(os.environ["RANK"])
    device = torch.device(device_name)
    with (Path(notes) / str(rank)).open("a", encoding="utf-8") as stream:

        def note(name: str, state: str, seconds: float = 0.0, text: str = "") -> None:
            line = {"name": name, "state": state, "seconds": round(seconds, 3), "text": text}
            stream.write(json.dumps(line) + "\n")
            stream.flush()

        _form_group(backend, device)
        note("", "formed")
        for contract in contracts.ALL:
            if contract.name not in names:
                continue
            place = Path(scratch) / contract.name
            place.mkdir(exist_ok=True)
            context = contracts.Context(
                rank, dist.get_world_size(), rank, device, dist.get_backend(), place
            )
            if (why := contract.unmet(context)) is not None:
                note(contract.name, "skipped", text=why)
                continue
            note(contract.name, "begun")
            began = time.perf_counter()
            try:
                contract.run(context)
            except BaseException:
                note(contract.name, "failed", time.perf_counter() - began, traceback.format_exc())
                raise
            note(contract.name, "held", time.perf_counter() - began)
    dist.destroy_process_group()


def _form_group(backend: str, device: torch.device) -> None:
    """Initialise the group and use it once: NCCL finds out about the devices only then."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, timeout=timedelta(seconds=_GROUP_SECONDS))
    ones = torch.ones(1, device=device)
    dist.all_reduce(ones)
    assert ones.item() == dist.get_world_size(), "all_reduce gave a wrong sum"


if __name__ == "__main__":
    main()
