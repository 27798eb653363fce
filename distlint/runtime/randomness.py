"""Random streams: equal on all ranks while the model is built, different where noise is drawn."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from .identity import rank

if TYPE_CHECKING:
    import torch

_entries = 0


def seed_everything(seed: int, *, deterministic: bool = False) -> None:
    """Seeds random, numpy and torch (CPU and every accelerator) alike on all ranks.

    Call it before the model and the data are built: ranks must build the same ones. Then, once
    model, optimizer and loaders are prepared, call `decorrelate`. Not collective.

    Args:
        seed: 0 to 2**32 - 1 (numpy's range).
        deterministic: also make torch use deterministic algorithms, which raise where there are
            none and may be slower; sets CUBLAS_WORKSPACE_CONFIG where it is unset (it is read at
            the first CUDA call).

    Raises:
        ValueError: seed is out of range.
    """
    _check_seed(seed)
    import torch

    random.seed(seed)
    if (numpy := _numpy()) is not None:
        numpy.random.seed(seed)
    torch.manual_seed(seed)
    if deterministic:
        # cuBLAS: "Results reproducibility"; torch 2.13.0, use_deterministic_algorithms.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False


def decorrelate(seed: int) -> None:
    """Gives each rank streams of its own (random, numpy, torch), made from `seed` and the rank.

    For dropout, augmentation and noise that must differ per rank. Call it after model, optimizer
    and loaders are prepared: before that FSDP puts together shards of two different models, and
    accelerate's seedable sampler deals samples twice and leaves others out (accelerate 1.15.0, both
    measured). Not collective; on one process the streams still change, so that a run on one rank
    equals rank 0 of a run on many.

    Args:
        seed: 0 to 2**32 - 1; the same on all ranks.

    Raises:
        ValueError: seed is out of range.
    """
    _check_seed(seed)
    _seed_streams(lambda stream: mix(seed, rank(), 0, f"decorrelate/{stream}"))


def generator(
    seed: int,
    device: str | torch.device = "cpu",
    *,
    per_rank: bool = True,
    step: int = 0,
) -> torch.Generator:
    """A torch.Generator for noise, by seed, rank and step. Not collective; global streams stay.

    Args:
        seed: 0 to 2**32 - 1; the same on all ranks.
        device: where the noise is drawn.
        per_rank: a stream of its own for each rank; False gives all ranks the same one.
        step: anything that counts: with the same step comes the same noise, also after a restart.

    Raises:
        ValueError: seed is out of range.
    """
    _check_seed(seed)
    import torch

    place = rank() if per_rank else -1
    return torch.Generator(device=device).manual_seed(mix(seed, place, step, "generator"))


@contextmanager
def rank_rng(seed: int | None = None, *, step: int = 0) -> Iterator[None]:
    """Inside, the global streams are this rank's own; afterwards they are as if nothing was drawn.

    For code that draws from the global streams (random, numpy, torch, every CUDA device) and must
    differ per rank, while the ranks' common streams stay in step. Not collective.

    Args:
        seed: 0 to 2**32 - 1; the same on all ranks. None derives one from torch's CPU stream and
            the number of entries so far, so that each entry gives other numbers, and the same
            ones in a repeated run.
        step: with `seed`: the same step gives the same numbers.

    Raises:
        ValueError: seed is out of range.
    """
    if seed is not None:
        _check_seed(seed)
    import torch

    global _entries
    if seed is None:
        _entries += 1
        state = torch.get_rng_state().numpy().tobytes()
        digest = hashlib.blake2b(state, digest_size=8).digest()
        root, step = int.from_bytes(digest, "big"), _entries
    else:
        root = seed
    with ExitStack() as restore:
        for snapshot in _stream_snapshots():
            restore.callback(snapshot)
        _seed_streams(lambda stream: mix(root, rank(), step, f"rank_rng/{stream}"))
        yield


def mix(seed: int, rank: int, step: int, purpose: str) -> int:
    """63 bits from all four, so that neighbours share nothing.

    A sum does not do: with ``seed + rank``, rank 1 of seed 7 is rank 0 of seed 8. torch's CPU
    generator uses the low 32 bits (mt19937), which a hash fills as evenly as the others.
    """
    text = f"{seed}/{rank}/{step}/{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(f"the seed {seed} is out of range: numpy takes 0 to 2**32 - 1")


def _seed_streams(of: Callable[[str], int]) -> None:
    import torch

    random.seed(of("random"))
    if (numpy := _numpy()) is not None:
        numpy.random.seed(of("numpy") % 2**32)
    torch.manual_seed(of("torch"))


def _stream_snapshots() -> Iterator[Callable[[], object]]:
    """For each global stream a function that puts it back to where it is now."""
    import torch

    state = random.getstate()
    yield lambda: random.setstate(state)
    if (numpy := _numpy()) is not None:
        numpy_state = numpy.random.get_state()
        yield lambda: numpy.random.set_state(numpy_state)
    torch_state = torch.get_rng_state()
    yield lambda: torch.set_rng_state(torch_state)
    if torch.cuda.is_available():
        cuda_states = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(cuda_states)
    if torch.backends.mps.is_available():
        mps_state = torch.mps.get_rng_state()
        yield lambda: torch.mps.set_rng_state(mps_state)


def _numpy() -> Any:
    """numpy where it is installed: also before the program imports it, as a loader may later."""
    if "numpy" not in sys.modules and importlib.util.find_spec("numpy") is None:
        return None
    import numpy

    return numpy
