"""How bad it is that nobody waits for an asynchronous call: by who uses the tensor behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities

HEAD = """
import torch
import torch.distributed as dist

"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # VocabularyParallelism 6191c3b megatron/core/pipeline_parallel/vocab_parallel_schedule.py:248
        (
            """
def announce(hidden, last, group):
    message = torch.cat([hidden, hidden])
    dist.broadcast(message, last, group=group, async_op=True)
    return hidden
""",
            "info",
        ),
        (
            """
def announce(hidden, last, group):
    message = torch.cat([hidden, hidden])
    dist.broadcast(message, last, group=group, async_op=True)
    return message.sum()
""",
            "error",
        ),
        (
            """
def announce(message, last, group):
    dist.broadcast(message, last, group=group, async_op=True)
""",
            "warning",
        ),
        (
            """
def announce(messages, last, group):
    for message in messages:
        dist.broadcast(message, last, group=group, async_op=True)
""",
            "warning",
        ),
        (
            """
def count(batches):
    total = torch.zeros(1)
    for batch in batches:
        total += batch.sum()
        dist.all_reduce(total, async_op=True)
""",
            "error",
        ),
        (
            """
def count(batches):
    total = torch.zeros(1)
    for batch in batches:
        print(total.item())
        dist.all_reduce(total, async_op=True)
""",
            "error",
        ),
        (
            """
def count(batches):
    for batch in batches:
        total = batch.sum()
        print(total.shape)
        dist.all_reduce(total, async_op=True)
""",
            "info",
        ),
        # VocabularyParallelism 6191c3b, lines 228 and 822: nobody reads the tensor
        (
            """
def schedule(group):
    stand_in = torch.zeros(1).cuda()
    stand_in.record_stream(torch.cuda.current_stream())

    def step(output):
        dist.all_reduce(stand_in, group=group, async_op=True)
        return output

    return step
""",
            "info",
        ),
        (
            """
def schedule(group):
    total = torch.zeros(1).cuda()

    def step(output):
        dist.all_reduce(total, group=group, async_op=True)
        return output

    return step, lambda: total.item()
""",
            "warning",
        ),
        # NCCL runs the collectives of a group one after the other
        (
            """
def both(x, y, group):
    dist.all_reduce(x, group=group, async_op=True)
    work = dist.all_reduce(y, group=group, async_op=True)
    work.wait()
    return x + y
""",
            "info",
        ),
        (
            """
def both(x, y, group, other):
    dist.all_reduce(x, group=group, async_op=True)
    work = dist.all_reduce(y, group=other, async_op=True)
    work.wait()
    return x + y
""",
            "error",
        ),
        (
            """
def both(x, y, group):
    dist.all_reduce(x, group=group, async_op=True)
    print(x)
    dist.all_reduce(y, group=group)
    return y
""",
            "error",
        ),
        # Pyramid-Flow 3040d71 video_vae/context_parallel_ops.py:103: a copy of the last rows, for which nobody has a name
        (
            """
def send(x, axis):
    x = x.transpose(0, axis)
    work = dist.isend(x[-2:].contiguous(), 1)
    return torch.cat([x[:2], x])
""",
            "info",
        ),
        (
            """
def send(x, axis):
    x = x * axis
    work = dist.isend(x[-2:].contiguous(), 1)
    return torch.cat([x[:2], x])
""",
            "warning",
        ),
        # a message between two ranks: Gloo gives it up with its handle, NCCL keeps what it sends (MindSpeed 028de58
        # mindspeed/core/tensor_parallel/tp_2d/linear_2d_split_along_first_dim.py:292)
        (
            """
def send(x):
    message = x * 2
    dist.isend(message, 1)
""",
            "info",
        ),
        (
            """
def send(x):
    dist.init_process_group("gloo")
    message = x * 2
    dist.isend(message, 1)
""",
            "warning",
        ),
        (
            """
def receive(x):
    message = torch.empty_like(x)
    dist.irecv(message, 0)
    return message
""",
            "error",
        ),
    ],
)
def test_who_uses_the_tensor_says_how_bad_it_is(
    tmp_path: Path, text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distlint.checking._on_trial", lambda _, finding: finding)
    assert severities(tmp_path, "DL109", HEAD + text) == [expected]
