"""Which process groups this machine can form: backend, ranks, devices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Session:
    """One process group to run the contracts in. `device` is ``cpu`` or ``cuda``.

    With more ranks than GPUs the ranks share them: rank r has GPU r modulo `gpus`.
    """

    backend: str
    ranks: int
    device: str
    gpus: int = 0
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def shares_gpus(self) -> bool:
        """Whether several ranks have one GPU."""
        return self.device == "cuda" and self.ranks > self.gpus

    @property
    def title(self) -> str:
        """``gloo, 2 ranks on the CPU``."""
        ranks = "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"
        if self.device == "cpu":
            return f"{self.backend}, {ranks} on the CPU"
        gpus = "1 GPU" if self.gpus == 1 else f"{self.gpus} GPUs"
        return f"{self.backend}, {ranks} {'sharing' if self.shares_gpus else 'on'} {gpus}"

    def device_of(self, rank: int) -> str:
        """The device of a rank: ``cpu``, ``cuda:1``."""
        return "cpu" if self.device == "cpu" else f"cuda:{rank % self.gpus}"


def default_ranks(gpus: int) -> int:
    """Two, or a rank for each GPU up to eight."""
    return max(2, min(gpus, 8))


def plan(ranks: int, gpus: int, nccl: bool, backend: str | None) -> tuple[list[Session], list[str]]:
    """The groups to form, and what cannot be formed here, in words.

    Args:
        ranks: how many processes were asked for.
        gpus: how many GPUs torch sees.
        nccl: whether this torch has NCCL.
        backend: only this one; None for all.
    """
    sessions, missing = [], []
    if backend in (None, "gloo"):
        sessions.append(Session("gloo", ranks, "cpu"))
        if gpus:
            sessions.append(Session("gloo", ranks, "cuda", min(gpus, ranks)))
        else:
            missing.append("gloo on GPUs: torch sees no GPU")
    if backend in (None, "nccl"):
        if not gpus:
            missing.append("nccl: torch sees no GPU")
        elif not nccl:
            missing.append("nccl: this torch is built without NCCL")
        else:
            own = min(gpus, ranks)
            sessions.append(Session("nccl", own, "cuda", own))
            if ranks > gpus:
                # NCCL refuses two ranks on one GPU unless told to allow them, which releases before
                # 2.31 cannot be (src/init.cc); they say so when the group is first used.
                allow = (("NCCL_MULTI_RANK_GPU_ENABLE", "1"),)
                sessions.append(Session("nccl", ranks, "cuda", gpus, allow))
    return sessions, missing
