"""What the installed torch is: its build, what CUDA says to it, its backends, peer access."""

from __future__ import annotations

import importlib.util
import warnings
from importlib import import_module
from typing import Any

from distlint.hardware.doctor.machine import Options, TorchFacts, Unknown


def look(options: Options) -> TorchFacts | Unknown:
    """The facts, or why there are none. Starts CUDA where there is a GPU."""
    if importlib.util.find_spec("torch") is None:
        return Unknown("torch is not installed here")
    try:
        torch: Any = import_module("torch")
        dist: Any = import_module("torch.distributed")
    except (ImportError, OSError) as problem:
        return Unknown(f"import torch fails: {str(problem).splitlines()[0]}", failed=True)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
        said = [str(w.message).splitlines()[0] for w in caught]
    count = torch.cuda.device_count() if available else 0
    distributed = dist.is_available()
    nccl = None
    if distributed and dist.is_nccl_available() and torch.cuda.is_available():
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
    elif distributed and dist.is_nccl_available():
        nccl = "unknown"
    return TorchFacts(
        # A TorchVersion would make the doctor itself import torch to read it.
        version=str(torch.__version__),
        cuda_build=torch.version.cuda,
        hip_build=torch.version.hip,
        cuda_available=available,
        cuda_error=said[0] if said and not available else "",
        device_count=count,
        architectures=tuple(torch.cuda.get_arch_list()) if available else (),
        gloo=distributed and dist.is_gloo_available(),
        nccl=nccl,
        no_peer_access=tuple(
            (a, b)
            for a in range(count)
            for b in range(count)
            if a != b and not torch.cuda.can_device_access_peer(a, b)
        ),
    )
