"""Contracts: whole states from sharded models, and files that are whole or not there."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from distlint import runtime
from distlint.hardware.contracts import Context, Contract
from distlint.hardware.contracts.nets import (
    Net,
    Stack,
    compiled,
    ddp,
    fsdp1,
    fsdp2,
    seeded,
    whole,
)
from distlint.hardware.contracts.ranks import outcome, raised, together


def _is_whole(state: dict[str, Any], kind: type[nn.Module], context: Context) -> None:
    if context.rank != 0:
        assert state == {}, list(state)
        return
    expected = whole(kind)
    assert list(state) == list(expected), (list(state), list(expected))
    for name, tensor in expected.items():
        assert type(state[name]) in (torch.Tensor, nn.Parameter), (name, type(state[name]))
        assert state[name].device.type == "cpu", name
        torch.testing.assert_close(state[name], tensor, rtol=0, atol=0)
    kind().load_state_dict(state)


def _still_works(model: nn.Module, width: int, context: Context) -> None:
    model(torch.ones(2, width, device=context.device)).sum().backward()


def _check_state(model: nn.Module, kind: type[nn.Module], context: Context) -> None:
    width = 8 if kind is Net else 5
    _is_whole(runtime.full_state_dict(model), kind, context)
    _still_works(model, width, context)
    _is_whole(runtime.full_state_dict(model), kind, context)


def check_state_plain(context: Context) -> None:
    _check_state(seeded(Net, context), Net, context)


def check_state_ddp(context: Context) -> None:
    _check_state(ddp(seeded(Net, context)), Net, context)
    _check_state(ddp(seeded(Stack, context)), Stack, context)


def check_state_compiled(context: Context) -> None:
    _check_state(compiled(ddp(seeded(Net, context))), Net, context)
    _check_state(ddp(compiled(seeded(Net, context))), Net, context)
    inside = seeded(Net, context)
    inside.model = compiled(inside.model)
    inside.head.weight = inside.model.weight
    _check_state(ddp(inside), Net, context)


def check_state_fsdp1(context: Context) -> None:
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    for options in (
        {"use_orig_params": True},
        {"use_orig_params": False},
        {"use_orig_params": True, "auto_wrap_policy": ModuleWrapPolicy({nn.Linear})},
        {"use_orig_params": False, "auto_wrap_policy": ModuleWrapPolicy({nn.Linear})},
    ):
        _check_state(fsdp1(seeded(Stack, context), context, **options), Stack, context)
    _check_state(compiled(fsdp1(seeded(Stack, context), context)), Stack, context)
    inside = compiled(seeded(Stack, context))
    _check_state(fsdp1(inside, context, use_orig_params=True), Stack, context)
    _check_state(fsdp1(seeded(Net, context), context, use_orig_params=True), Net, context)


def check_state_fsdp2(context: Context) -> None:
    _check_state(fsdp2(seeded(Stack, context), context), Stack, context)
    _check_state(fsdp2(seeded(Net, context), context), Net, context)
    from torch.distributed.fsdp import fully_shard

    layered = seeded(Stack, context)
    fully_shard(layered.module)
    _check_state(compiled(fsdp2(layered, context)), Stack, context)


def check_state_activation_checkpointing(context: Context) -> None:
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        checkpoint_wrapper,
    )

    for wrap in (ddp, lambda net: fsdp1(net, context, use_orig_params=True)):
        net = seeded(Stack, context)
        net.module = checkpoint_wrapper(net.module)
        _check_state(wrap(net), Stack, context)


def check_state_hugging_face(context: Context) -> None:
    from distlint.hardware.contracts.hugging_face import llama, llava

    for build in (llava, lambda: llama(tie_word_embeddings=True)):
        expected = build().state_dict()
        for wrap in (ddp, lambda net: fsdp2(net, context), lambda net: fsdp1(net, context)):
            state = runtime.full_state_dict(wrap(build().to(context.device)))
            assert list(state) == (list(expected) if context.rank == 0 else [])
            for name, tensor in state.items():
                torch.testing.assert_close(tensor, expected[name], rtol=0, atol=0)
            if "lm_head.weight" in state and build is not llava:
                embedding = state["model.embed_tokens.weight"]
                assert state["lm_head.weight"].data_ptr() == embedding.data_ptr()


def check_state_peft(context: Context) -> None:
    from peft import LoraConfig, get_peft_model
    from peft.utils import get_peft_model_state_dict

    from distlint.hardware.contracts.hugging_face import llama

    def build() -> Any:
        settings = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
        return get_peft_model(llama(), settings)

    expected = build().state_dict()
    adapted = build().to(context.device)
    model = fsdp2(adapted, context)
    assert runtime.unwrap(model) is adapted
    state = runtime.full_state_dict(model)
    assert list(state) == (list(expected) if context.rank == 0 else [])
    for name, tensor in state.items():
        torch.testing.assert_close(tensor, expected[name], rtol=0, atol=0)
    if context.rank == 0:
        adapter = get_peft_model_state_dict(build(), state_dict=state)
        assert adapter
        assert all("lora_" in name for name in adapter)


def check_tied(context: Context) -> None:
    for model in (ddp(seeded(Net, context)), fsdp2(seeded(Net, context), context)):
        state = runtime.full_state_dict(model)
        if context.rank == 0:
            assert state["head.weight"].data_ptr() == state["model.weight"].data_ptr()


def check_save_model(context: Context) -> None:
    path = context.scratch / "model.pt"
    for model in (ddp(seeded(Stack, context)), fsdp2(seeded(Stack, context), context)):
        runtime.save(model, path)
        # Every rank returns when the file is complete.
        state = torch.load(path, map_location="cpu")
        for name, tensor in whole(Stack).items():
            assert torch.equal(state[name], tensor), name
        together()
        runtime.run_on_main(path.unlink)


def check_save_nest(context: Context) -> None:
    path = context.scratch / "nest.pt"
    model = fsdp2(seeded(Stack, context), context)
    optimizer = torch.optim.AdamW(model.parameters())
    _still_works(model, 5, context)
    optimizer.step()
    runtime.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": (3, [4])}, path
    )
    loaded = torch.load(path, map_location="cpu", weights_only=False)
    assert loaded["step"] == (3, [4])
    assert list(loaded["model"]) == list(whole(Stack))
    assert loaded["optimizer"]["state"][0]["exp_avg"].shape == (7, 5)
    Stack().load_state_dict(loaded["model"])


def check_save_options(context: Context) -> None:
    path = context.scratch / "part-{rank}.txt"

    def write(value: Any, where: str) -> None:
        Path(where).write_text(str(value))

    runtime.save(context.rank, path, per_rank=True, save_fn=write)
    for other in range(context.world_size):
        assert Path(str(path).format(rank=other)).read_text() == str(other)
    together()
    shared = context.scratch / "each-node.txt"
    runtime.save("local", shared, on_each_node=True, save_fn=write)
    assert shared.read_text() == "local"
    error = raised(lambda: runtime.save(1, shared, per_rank=True))
    assert isinstance(error, ValueError)
    together()


def _leftovers(context: Context) -> list[str]:
    return [path.name for path in context.scratch.iterdir() if ".tmp" in path.name]


def _check_failure(context: Context, failing: int, save_fn: Any, per_rank: bool = False) -> None:
    """`save_fn` raises on rank `failing`: all ranks raise, the old files are there, no other."""
    path = context.scratch / ("old-{rank}.txt" if per_rank else "old.txt")

    def write(value: Any, where: str) -> None:
        Path(where).write_text(str(value))

    runtime.save("old", path, save_fn=write, per_rank=per_rank)
    error = raised(lambda: runtime.save("new" * 9, path, save_fn=save_fn, per_rank=per_rank))
    if context.rank == failing:
        assert not isinstance(error, runtime.RankError), error
    else:
        assert isinstance(error, runtime.RankError), error
        assert isinstance(error, runtime.MainProcessError) == (failing == 0)
        assert error.rank == failing
    mine = Path(str(path).format(rank=context.rank))
    if not per_rank or context.rank == failing:
        assert mine.read_text() == "old"
    together()
    assert _leftovers(context) == []
    # The group is usable.
    runtime.barrier()
    assert runtime.any_rank(context.rank == 0)


def check_failure_on_main(context: Context) -> None:
    def half(value: Any, where: str) -> None:
        Path(where).write_text("half")
        raise OSError(28, "No space left on device")

    _check_failure(context, 0, half)


def check_exit_while_saving(context: Context) -> None:
    def leave(value: Any, where: str) -> None:
        Path(where).write_text("half")
        sys.exit(1)

    _check_failure(context, 0, leave)


def check_failure_elsewhere(context: Context) -> None:
    last = context.world_size - 1

    def half(value: Any, where: str) -> None:
        Path(where).write_text("half")
        if context.rank == last:
            raise OSError(28, "No space left on device")

    _check_failure(context, last, half, per_rank=True)


def check_disk_full(context: Context) -> None:
    """The kernel refuses to let files grow, as on a full disk, in the middle of a checkpoint."""
    import resource
    import signal

    path = context.scratch / "full.pt"
    runtime.save({"old": torch.ones(3)}, path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        error = raised(lambda: runtime.save({"new": torch.ones(1_000_000)}, path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    if context.rank == 0:
        assert isinstance(error, OSError) and error.errno == errno.EFBIG, error
    else:
        assert isinstance(error, runtime.MainProcessError), error
    assert "may not grow" in str(error)
    assert torch.equal(torch.load(path)["old"], torch.ones(3))
    together()
    assert _leftovers(context) == []
    runtime.barrier()


def check_failure_while_gathering(context: Context) -> None:
    class Refuses(nn.Linear):
        def state_dict(self, *args: Any, **options: Any) -> Any:
            if context.rank == context.world_size - 1:
                raise MemoryError("no room for the state")
            return super().state_dict(*args, **options)

    path = context.scratch / "refused.pt"
    error = raised(lambda: runtime.save(Refuses(2, 2), path))
    if context.rank == context.world_size - 1:
        assert isinstance(error, MemoryError)
    else:
        assert isinstance(error, runtime.RankError), error
    together()
    assert not path.exists()
    runtime.barrier()


def check_no_directory(context: Context) -> None:
    error = raised(lambda: runtime.save({}, context.scratch / "missing" / "model.pt"))
    assert isinstance(error, FileNotFoundError if context.rank == 0 else runtime.MainProcessError)
    assert "create it" in str(error)


def check_wrong_place(context: Context) -> None:
    path = context.scratch / "elsewhere.pt"
    if context.rank == 0:
        kind = outcome(lambda: runtime.save({}, path, timeout=60))
    else:
        kind = outcome(lambda: runtime.barrier(timeout=60))
    assert kind == "DesyncError", kind
    together()
    assert not path.exists()
    runtime.barrier()


def check_save_on_main_only(context: Context) -> None:
    path = context.scratch / "main-only.pt"
    error = raised(lambda: runtime.run_on_main(runtime.save, {}, path))
    assert isinstance(error, RuntimeError)
    assert "needs every rank" in str(error)
    together()


CONTRACTS = (
    Contract(
        "saving.state-plain",
        "full_state_dict() of a plain module is its state, on rank 0",
        1,
        check_state_plain,
    ),
    Contract(
        "saving.state-ddp",
        "full_state_dict() of a DDP model has the net's own keys",
        1,
        check_state_ddp,
    ),
    Contract(
        "saving.state-compiled",
        "full_state_dict() of compiled models has the net's own keys, in every nesting",
        1,
        check_state_compiled,
        ("compile",),
    ),
    Contract(
        "saving.state-fsdp1",
        "full_state_dict() of FSDP1 is whole, and leaves the model working",
        1,
        check_state_fsdp1,
        ("fsdp", "compile"),
    ),
    Contract(
        "saving.state-fsdp2",
        "full_state_dict() of FSDP2 is whole, with uneven and empty shards",
        1,
        check_state_fsdp2,
        ("fsdp", "compile"),
    ),
    Contract(
        "saving.state-activation-checkpointing",
        "activation checkpointing leaves no trace in the keys, under DDP and FSDP1",
        1,
        check_state_activation_checkpointing,
        ("fsdp",),
    ),
    Contract(
        "saving.state-hugging-face",
        "full_state_dict() of a language and a vision-language model is whole under DDP, FSDP1, "
        "FSDP2, and tied weights stay tied",
        1,
        check_state_hugging_face,
        ("fsdp", "transformers"),
    ),
    Contract(
        "saving.state-peft",
        "full_state_dict() of a PEFT model under FSDP2 is what PEFT itself takes",
        1,
        check_state_peft,
        ("fsdp", "transformers", "peft"),
    ),
    Contract("saving.tied", "tied weights stay tied in the state", 1, check_tied, ("fsdp",)),
    Contract(
        "saving.model",
        "save(model, path) writes the whole state once, and is done when it returns",
        1,
        check_save_model,
        ("fsdp",),
    ),
    Contract(
        "saving.nest",
        "save() of a nest makes its DTensors whole, the optimizer's too",
        1,
        check_save_nest,
        ("fsdp",),
    ),
    Contract(
        "saving.options",
        "save() writes per rank, on each node and with a function of the caller's",
        1,
        check_save_options,
    ),
    Contract(
        "saving.failure-on-main",
        "an error of rank 0 while writing reaches all ranks; the old file stays",
        2,
        check_failure_on_main,
    ),
    Contract(
        "saving.exit-while-saving",
        "sys.exit while writing reaches all ranks; the old file stays",
        2,
        check_exit_while_saving,
    ),
    Contract(
        "saving.failure-elsewhere",
        "an error of another rank while writing reaches all ranks",
        2,
        check_failure_elsewhere,
    ),
    Contract(
        "saving.disk-full",
        "a disk that fills up in the middle of a checkpoint leaves the old one and a usable group",
        1,
        check_disk_full,
        ("posix",),
    ),
    Contract(
        "saving.failure-while-gathering",
        "an error of one rank while the state is gathered reaches all; no file is written",
        2,
        check_failure_while_gathering,
    ),
    Contract(
        "saving.no-directory",
        "a missing directory is reported on every rank before anything is gathered",
        2,
        check_no_directory,
    ),
    Contract(
        "saving.wrong-place",
        "save() on main and a barrier elsewhere is a DesyncError on every rank",
        2,
        check_wrong_place,
    ),
    Contract(
        "saving.main-only",
        "save() inside run_on_main() raises on every rank, instead of hanging",
        2,
        check_save_on_main_only,
    ),
)
