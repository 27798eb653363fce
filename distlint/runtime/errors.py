"""What the runtime raises when another rank failed, or is somewhere else in the program."""

from __future__ import annotations


class RankError(RuntimeError):
    """Another rank failed in a section that this rank waited for.

    Attributes:
        rank: the rank that failed.
        place: where it was in the program, ``file:line``.
        remote_traceback: its formatted traceback; empty where there was none to send.
    """

    def __init__(self, message: str, *, rank: int, place: str, remote_traceback: str = "") -> None:
        super().__init__(message)
        self.rank = rank
        self.place = place
        self.remote_traceback = remote_traceback


class MainProcessError(RankError):
    """The main process (rank 0, or with ``local=True`` this machine's first rank) failed."""


class DesyncError(RuntimeError):
    """The ranks met at different places of the program: each waits for something else."""


class RankTimeoutError(TimeoutError):
    """A rank did not arrive, or did not finish, in the time that was given."""
