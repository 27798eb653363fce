"""Runs inside each rank: tells every collective before it starts, with the user's stack.

How collectives are seen. All of them, whoever asks for them, go through the dispatcher as operators
`c10d::…` (ProcessGroup.hpp and Ops.cpp, torch 2.13): `dist.*`, object collectives, functional and
compiled ones, FSDP, and the reducer of DDP, which calls from C++. A kernel of ours stands in front
of these operators at the key BackendSelect, which is in the default set of every thread, autograd's
and inference mode included, and hands on to what was there. A TorchDispatchMode would see the same,
but costs Python time for each of the other operators too. No other operator is touched.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import os
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from distlint.hardware.sanitizer import operators
from distlint.hardware.sanitizer.operators import OPERATORS, Operator, dtype_text
from distlint.hardware.sanitizer.places import INSTALLED
from distlint.hardware.sanitizer.startup import REPLICAS, TRAINING

if TYPE_CHECKING:
    from distlint.hardware.sanitizer.replicas import ReplicaWatch
    from distlint.hardware.sanitizer.training_log import TrainingLog

_TORCH = str(Path(torch.__file__).parent) + os.sep
_ENGINE = torch.autograd.graph.__file__
_OWN = str(Path(__file__).parent) + os.sep
_RUNTIME = str(Path(__file__).parents[2] / "runtime") + os.sep
_PROVING = str(Path(__file__).parents[2] / "proving") + os.sep
_STANDARD = sysconfig.get_paths()["stdlib"] + os.sep
_COMPILED = f"{os.sep}torchinductor_"
"""Part of the folder names that Inductor writes its generated code under."""
_DEPTH = 24


class Recorder:
    """Writes events to a pipe. One a process; a forked child (a DataLoader worker) stays silent."""

    def __init__(self, pipe: int, handed_on: Callable[[int], None] | None = None) -> None:
        """`handed_on` waits until so many bytes have left this process, where the pipe ends in it."""
        self._pipe = pipe
        self._handed_on = handed_on
        self._written = 0
        self._closed = False
        self.process = os.getpid()
        self._lock = threading.Lock()
        self._stacks: dict[tuple[tuple[str, int, str], ...], int] = {}
        self._groups: dict[str, tuple[int, ...]] = {}
        self._internal: dict[str, bool] = {}
        self._hidden: list[Any] = []
        self._forwards = 0
        self._replicas: ReplicaWatch | None = None
        self._training: TrainingLog | None = None
        self._library = torch.library.Library("c10d", "IMPL")  # type: ignore[no-untyped-call]

    def install(self) -> None:
        """Put the kernels in front of the collectives of this process, for its whole life."""
        registered = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
        for name, row in OPERATORS.items():
            if f"c10d::{name}" in registered:  # Some came with later versions of torch.
                overload = getattr(torch.ops.c10d, name).default
                kernel = self._kernel(overload, row)
                self._hidden.append(kernel)
                impl: Callable[..., None] = self._library.impl
                impl(name, kernel, "BackendSelect", with_keyset=True)
        self._watch_new_groups()
        self._watch_waits()
        if os.environ.pop(REPLICAS, None):
            from distlint.hardware.sanitizer.replicas import ReplicaWatch

            self._replicas = ReplicaWatch(self._tell_replica)
            self._replicas.install()
        if folder := os.environ.pop(TRAINING, None):
            from distlint.hardware.sanitizer.training_log import TrainingLog

            path = Path(folder) / f"{os.environ['RANK']}.jsonl"
            self._training = TrainingLog(path, self._stack)
            self._training.install()
        self._watch_forwards()
        self._hide_from_compiler()
        self._tell({"kind": "start"})

    def end(self, error: BaseException | None) -> None:
        """Tell that the script has ended, by `error` or in the regular way."""
        if self._training is not None:
            self._training.close()
        frames: tuple[tuple[str, int, str], ...] = ()
        if error is not None:
            summary = traceback.extract_tb(error.__traceback__)
            kept = [f for f in reversed(summary) if not self._is_internal(f.filename)]
            frames = tuple((f.filename, f.lineno or 0, f.name) for f in kept[:_DEPTH])
        name = None if error is None else type(error).__name__
        message = "" if error is None else str(error)[:2000]
        self._tell({"kind": "end", "exception": name, "message": message}, frames)

    def close(self) -> None:
        """Tell nothing more; whoever reads the pipe comes to its end."""
        with self._lock:
            self._closed = True
            os.close(self._pipe)

    def tell_end_at_exit(self, after: Callable[[], None] | None = None) -> None:
        """Have the end told when this process ends, by itself or by an exception; then call `after`."""
        left_by: list[BaseException] = []
        shown = sys.excepthook

        def excepthook(
            kind: type[BaseException], error: BaseException, frames: TracebackType | None
        ) -> None:
            left_by.append(error)
            shown(kind, error, frames)

        def end() -> None:
            if os.getpid() == self.process:
                self.end(left_by[0] if left_by else None)
                if after is not None:
                    after()

        sys.excepthook = excepthook
        atexit.register(end)

    def answer_questions(self, pipe: int) -> None:
        """Answer each byte on `pipe` with where the main thread is. Runs in a thread of its own."""
        main = threading.main_thread().ident
        while os.read(pipe, 1):
            frame = sys._current_frames().get(main or 0)
            innermost = frame.f_code.co_filename if frame is not None else ""
            waits = innermost.startswith((_TORCH, _OWN, _RUNTIME))
            self._tell({"kind": "whereabouts", "waits": waits}, self._stack(frame))

    def _kernel(self, overload: Any, row: Operator) -> Callable[..., Any]:
        names = [argument.name for argument in overload._schema.arguments]
        select = torch._C.DispatchKey.BackendSelect

        def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
            if os.getpid() == self.process:
                self._record(row, dict(zip(names, args, strict=False)) | kwargs)
            return overload.redispatch(keys.remove(select), *args, **kwargs)

        return kernel

    def _record(self, row: Operator, arguments: dict[str, Any]) -> None:
        tensors = row.tensors(arguments)
        if any(tensor.is_meta for tensor in tensors):
            return  # Shape inference of a tracer: nothing is sent.
        group = dist.ProcessGroup.unbox(arguments["process_group"])
        ranks = self._group_ranks(group)
        event: dict[str, Any] = {
            "kind": "collective",
            "name": row.name,
            "group": group.group_name,
            "agreed": row.agreed(arguments, ranks),
            "shown": _shown(tensors),
        }
        if row.shapes:
            event["shapes"] = [list(tensor.shape) for tensor in tensors]
        if row.exchange:
            event["exchange"] = row.exchanged(arguments, len(ranks))
        if row.partner is not None:
            own, other = ranks[group.rank()], None
            if row.partner in arguments:
                other = ranks[arguments[row.partner]]
            sends = row.name == "send"
            event |= {
                "kind": "point-to-point",
                "source": own if sends else other,
                "destination": other if sends else own,
                "tag": arguments["tag"],
            }
        if self._forwards and _called_by_autograd(sys._getframe(2)):
            event["forward"] = self._forwards
        self._tell(event, self._stack(sys._getframe()))
        # gloo aborts the process where the sizes differ, at once and from a thread of its own.
        if self._handed_on is not None and any(tensor.is_cpu for tensor in tensors):
            self._handed_on(self._written)

    def _group_ranks(self, group: Any) -> tuple[int, ...]:
        """The global ranks of a group; told to the parent when first seen, or when changed."""
        positions = c10d._world.pg_group_ranks.get(group) or {r: r for r in range(group.size())}
        ranks = tuple(sorted(positions, key=positions.__getitem__))
        if self._groups.get(group.group_name) != ranks:
            self._groups[group.group_name] = ranks
            description = getattr(group, "group_desc", "")
            if description in {"", "undefined"}:
                description = group.group_name
            event = {"kind": "group", "name": group.group_name, "description": description}
            self._tell(event | {"ranks": ranks})
        return ranks

    def _watch_new_groups(self) -> None:
        """`new_group` binds all ranks of the job, through the store: no operator shows it."""
        original = c10d._new_group_with_tag

        signature = inspect.signature(original)

        def watched(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            # With local synchronisation only the members take part.
            if os.getpid() == self.process and not given.get("use_local_synchronization"):
                world = c10d._get_default_group()
                self._group_ranks(world)
                ranks = given.get("ranks")
                members = "all" if ranks is None else str(sorted(ranks))
                event = {"kind": "collective", "name": "new_group", "group": world.group_name}
                told = {"agreed": [("ranks", members)], "shown": f"ranks={members}"}
                self._tell(event | told, self._stack(sys._getframe()))
            return original(*args, **kwargs)

        c10d._new_group_with_tag = watched

    def _watch_waits(self) -> None:
        """`work.wait()` has no Python frame of its own; give it one, so that a wait is seen as one."""
        original = dist.Work.wait

        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            return original(work, *args, **kwargs)

        self._hidden.append(wait)

        setattr(dist.Work, "wait", wait)  # noqa: B010 - the stub declares a method

    def _watch_forwards(self) -> None:
        """Count the forward passes of DDP after which it will reduce gradients.

        The gradients of one pass on one rank belong to those of the same pass on the others. A rank
        that skips a backward hands in the next ones instead: nothing else shows that.
        """
        ddp: Any = torch.nn.parallel.DistributedDataParallel
        original = ddp.forward

        def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
            if module.training and module.require_backward_grad_sync and torch.is_grad_enabled():
                self._forwards += 1
                if self._replicas is not None:
                    self._replicas.add(module)
            return original(module, *args, **kwargs)

        # A rank that has joined early (torch.distributed.algorithms.join) takes part without one.
        shadow = ddp._match_all_reduce_for_bwd_pass

        def match(module: Any) -> Any:
            self._forwards += 1
            return shadow(module)

        self._hidden.append(forward)
        ddp.forward, ddp._match_all_reduce_for_bwd_pass = forward, match

    def _tell_replica(self, group: Any, event: dict[str, Any]) -> None:
        self._group_ranks(group)
        self._tell(event | {"group": group.group_name}, self._stack(sys._getframe()))

    def _hide_from_compiler(self) -> None:
        """Inside compiled code Dynamo would compile our kernels too: have it leave them alone.

        `torch.compiler.disable` does that, but imports the compiler, which takes a second or more.
        So it is done when the program first compiles something.
        """
        original = torch.compile
        members = (
            *vars(Recorder).values(),
            *vars(Operator).values(),
            _shown,
            *vars(operators).values(),
        )
        self._hidden += [member for member in members if isinstance(member, FunctionType)]

        @functools.wraps(original)
        def compile_hidden(*args: Any, **kwargs: Any) -> Any:
            from torch._dynamo.eval_frame import skip_code

            while self._hidden:
                skip_code(self._hidden.pop().__code__)
            return original(*args, **kwargs)

        torch.compile = compile_hidden

    def _stack(self, frame: FrameType | None) -> tuple[tuple[str, int, str], ...]:
        found = self._user_frames(frame)
        if not found:
            # A thread of autograd: what it does was asked for by the main thread's backward().
            main = sys._current_frames().get(threading.main_thread().ident or 0)
            found = self._user_frames(main)
        return tuple(found)

    def _user_frames(self, frame: FrameType | None) -> list[tuple[str, int, str]]:
        found: list[tuple[str, int, str]] = []
        while frame is not None and len(found) < _DEPTH:
            code = frame.f_code
            if not self._is_internal(code.co_filename):
                found.append((code.co_filename, frame.f_lineno, code.co_name))
            frame = frame.f_back
        return found

    def _is_internal(self, filename: str) -> bool:
        """Whether a file is torch's, the standard library's or ours."""
        known = self._internal.get(filename)
        if known is None:
            known = filename.startswith((_TORCH, _OWN, _RUNTIME, _PROVING, "<frozen"))
            standard = filename.startswith(_STANDARD) and INSTALLED.isdisjoint(Path(filename).parts)
            self._internal[filename] = known = known or standard or _COMPILED in filename
        return known

    def _tell(
        self, event: dict[str, Any], frames: tuple[tuple[str, int, str], ...] | None = None
    ) -> None:
        with self._lock:
            if self._closed:
                return
            text = ""
            if frames is not None:
                number = self._stacks.get(frames)
                if number is None:
                    number = self._stacks[frames] = len(self._stacks)
                    text = json.dumps({"kind": "stack", "id": number, "frames": frames}) + "\n"
                event["stack"] = number
            data = (text + json.dumps(event) + "\n").encode()
            self._written += len(data)
            try:
                while data:
                    data = data[os.write(self._pipe, data) :]
            except BrokenPipeError:
                self.process = -1  # Nobody listens any more; the program goes on.


def _called_by_autograd(frame: FrameType | None) -> bool:
    """Whether the caller of an operator is autograd's engine, as with the reducer of DDP.

    Its threads have no Python frames. Hooks in Python (of FSDP, of a communication hook) have.
    """
    return frame is None or frame.f_code.co_filename == _ENGINE


def _shown(tensors: Iterable[torch.Tensor]) -> str:
    """Dtypes and shapes, at most four: ``float32[4, 8], …``; of many alike ``16 x float32[8]``."""
    listed = list(tensors)
    if len(listed) > 4 and len({(t.dtype, t.shape) for t in listed}) == 1:
        return f"{len(listed)} x {dtype_text(listed[0])}{list(listed[0].shape)}"
    parts = [f"{dtype_text(t)}{list(t.shape)}" for t in listed[:4]]
    return ", ".join([*parts, f"… {len(listed)} tensors"] if len(listed) > 4 else parts)
