"""What a rank does in the DeepSpeed suite: ZeRO engines, their nets, states and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deepspeed
import torch
import torch.distributed as dist

from distlint import runtime
from distlint.hardware.contracts.nets import Net, Stack, whole


def _engine(stage: int, kind: type[torch.nn.Module], compiled: bool) -> Any:
    settings = {
        "train_micro_batch_size_per_gpu": 2,
        "zero_optimization": {"stage": stage},
        "zero_allow_untested_optimizer": True,
    }
    torch.manual_seed(0)
    if stage == 3:
        with deepspeed.zero.Init(config_dict_or_path=settings):
            net = kind()
    else:
        net = kind()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    engine, *_ = deepspeed.initialize(model=net, optimizer=optimizer, config=settings)
    if compiled:
        return net, torch.compile(engine, backend="eager")
    return net, engine


def check_stage(stage: int, folder: str) -> str:
    """The net comes out of the engine, its state is whole, before and after a step."""
    expected = {kind: whole(kind) for kind in (Net, Stack)}
    for kind, width in ((Stack, 5), (Net, 8)):
        for compiled in (False, True):
            net, engine = _engine(stage, kind, compiled)
            assert runtime.unwrap(engine) is net, type(runtime.unwrap(engine))
            for _ in range(2):
                state = runtime.full_state_dict(engine)
                if dist.get_rank() != 0:
                    assert state == {}
                else:
                    assert list(state) == list(expected[kind]), (list(state), stage)
                    for name, tensor in expected[kind].items():
                        torch.testing.assert_close(state[name], tensor, rtol=0, atol=0)
                if not compiled:
                    loss = engine(torch.ones(2, width)).sum()
                    engine.backward(loss)
                    engine.step()
            path = Path(folder) / f"{kind.__name__}-{stage}-{compiled}.pt"
            runtime.save(engine, path)
            loaded = torch.load(path, map_location="cpu")
            kind().load_state_dict(loaded)
            runtime.barrier()
    return "ok"
