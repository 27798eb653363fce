"""The shape of the rows: what a call does when several ranks run it."""

# No `from __future__ import annotations` here and in the tables: NamedTuple compiles annotations that
# are strings one by one, which was most of the time that loading the tables took.
import enum
from typing import Literal, NamedTuple


class Effect(enum.Enum):
    """What happens at run time when the call is reached."""

    COLLECTIVE = "collective"
    """Every rank of the group has to make the call, else those that did wait."""
    SHARDED_COLLECTIVE = "sharded-collective"
    """A collective only when the model is sharded: FSDP, ZeRO-3, tensor parallel."""
    WRAPPED_COLLECTIVE = "wrapped-collective"
    """A collective under plain DDP too: forward and backward of a wrapped model in training."""
    WAIT = "wait"
    """Blocks until one peer has sent or a handle is done."""
    SEND = "send"
    """Hands data to one peer."""
    WRITE = "write"
    """Writes a file or a directory tree, on every rank that makes the call."""
    READ = "read"
    """Reads a file."""
    DELETE = "delete"
    """Removes or renames away a path."""
    CREATE_DIR = "create-dir"
    """Creates a directory."""
    PROMPT = "prompt"
    """Waits for a person at the terminal."""
    SEED = "seed"
    """Sets the state of a random number generator."""
    RANDOM = "random"
    """Draws random numbers."""
    DOWNLOAD = "download"
    """Fetches from the network into a path that ranks of a machine share."""
    UPLOAD = "upload"
    """Commits to a repository on the network that all ranks name alike."""
    GUARDED_WRITE = "guarded-write"
    """Writes, but chooses the writing rank itself: meant to be called on all ranks."""
    EXIT = "exit"
    """Does not return: ends this process."""


class CallRow(NamedTuple):
    """One function, method, constructor or context manager, and what calling it does.

    A method's positions do not count ``self``.
    """

    name: str
    """Canonical qualified name: the public path where there is one."""
    effect: Effect
    op: str = ""
    """Identity for comparing ranks: two rows with one `op` meet each other at run time."""
    group: int | None = None
    """Position of the process-group argument."""
    group_keyword: str = "group"
    """Its keyword; empty where the call takes no group."""
    fills: tuple[int, ...] = ()
    """Positions of arguments whose contents are equal on all ranks afterwards."""
    fills_keywords: tuple[str, ...] = ()
    result: str = "uniform"
    """What is returned: "uniform" (same on all ranks), "rank" (differs by who asks: reduce, gather to
    one rank, scatter), "local" (differs, unrelated to the rank number), "same-as-arg", "none",
    "wrapped" (the model or models, wrapped), "group" (a process group or device mesh),
    "work" (a handle to wait for)."""
    path: int | str | None = None
    """Which argument is the path: position, or keyword where it can only be given by keyword.
    "self" where the receiver is the path."""
    path_keyword: str = ""
    first: str = ""
    """For context managers that let some ranks run their body before the others: "main" (global
    rank 0), "local_main" (local rank 0 of each machine)."""
    implicit_group: str = ""
    """The call communicates in a group that is no argument of it: "tensor-parallel", "data-parallel",
    "pipeline", "node"; empty where that is the whole job."""
    source: str = ""
    """Library, version, file and line of the definition that was read."""
    also: tuple[Effect, ...] = ()
    """Further effects of the same call, for instance a collective that also writes."""
    context: bool = False
    """Used as a context manager: the effect belongs to entering (and, see `exit_too`, leaving)."""
    exit_too: bool = False
    """Leaving the context performs the effect again."""
    failure_reaches_all: bool = False
    """An exception that leaves the body on one rank is raised on all of them."""
    when: str = ""
    """"keyword=value" ("download=True") of an argument that is off by default: the effect holds only
    where the argument is given and may have that value."""
    unless: str = ""
    """"keyword=value" ("exist_ok=True", "source=local"): the effect holds unless the argument surely
    has that value."""
    condition: int | None = None
    """Position of the argument that `when` or `unless` names, where the row has one of them."""
    writers: str = ""
    """For GUARDED_WRITE: which ranks write: "main", "local_main", "each" (own file per rank)."""
    atomic: bool = False
    """For writes: through a temporary name and a rename, so that readers never see half a file."""
    target: int | None = None
    """For moves and renames: position of the path that is written."""
    handle: bool = False
    """The path argument is an open file: the path is where it was opened."""
    locked: bool = False
    """For downloads and writes: serialised by a file lock, so that several ranks may call it."""
    mentions: tuple[str, ...] = ()
    """Words of which a file that calls it has to hold one: what makes it a collective
    is not seen in the call. Under a test of a version it is not taken to be one."""


Kind = Literal[
    "rank",
    "local_rank",
    "is_main",
    "is_local_main",
    "is_last",
    "world_size",
    "local_world_size",
    "node_rank",
    "initialized",
    "sharded_mode",
    "zero3",
    "group_rank",
    "group_size",
    "not_rank",
]
"""What an expression tells about the rank.

"is_main" is true on global rank 0, "is_local_main" on local rank 0 of each machine, "is_last" on the
last global rank. "initialized" is true on every rank of a distributed run and false in a single
process. "sharded_mode" says whether FSDP, ZeRO or tensor parallel is on, the same on all ranks,
and "zero3" whether DeepSpeed shards the weights: whoever asks gets the same answer.
"group_rank" is a position inside a subgroup (tensor, pipeline, data parallel), "group_size" its size.
"not_rank" looks like a rank predicate and is the same on all ranks."""


class RankFact(NamedTuple):
    """A function, attribute or decorator that depends on the rank."""

    name: str
    kind: Kind
    source: str = ""
    rank: str = ""
    """For decorators that take the rank: the keyword of the argument that names it."""
    group: int | None = None
    """Position of the process-group argument ("group" by keyword), which makes the answer one about
    a subgroup."""
