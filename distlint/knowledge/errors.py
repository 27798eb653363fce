"""Errors that have a cause which no rule finds in code: what they mean, and what to do."""

from __future__ import annotations

from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class KnownError:
    """An error.

    Attributes:
        text: as it is printed; `...` stands for anything.
        cause: what happened, in a sentence.
        do: what to do about it.
        source: who prints it.
    """

    text: str
    cause: str
    do: str
    source: str


ERRORS: tuple[KnownError, ...] = (
    KnownError(
        "marked as ready twice",
        "DDP got the gradient of one parameter twice in a backward: reentrant activation checkpointing with "
        "find_unused_parameters=True, or a part of the model that two forwards share.",
        'Checkpoint with use_reentrant=False (`gradient_checkpointing_kwargs={"use_reentrant": False}`), or leave '
        "find_unused_parameters out.",
        "torch 2.13.0 csrc/distributed/c10d/reducer.cpp",
    ),
    KnownError(
        "Expected to mark a variable ready only once",
        "DDP got the gradient of one parameter twice in a backward: a unit that is checkpointed with reentrance, or "
        "a part of the model that two forwards share.",
        "Checkpoint with use_reentrant=False, and let one forward lead to one backward.",
        "torch 2.13.0 csrc/distributed/c10d/reducer.cpp",
    ),
    KnownError(
        "Expected to have finished reduction in the prior iteration",
        "Some parameters of the model got no gradient in the step before, and DDP still waits for them.",
        "Freeze what is not trained before DDP wraps the model, let every forward use every parameter, or set "
        "find_unused_parameters=True.",
        "torch 2.13.0 csrc/distributed/c10d/reducer.cpp",
    ),
    KnownError(
        "Must flatten tensors with uniform",
        "FSDP of version 1 puts the parameters of a unit into one tensor, and they differ in dtype or in "
        "requires_grad: LoRA layers in fp32 beside bf16 weights, or quantized weights.",
        "Cast the adapters to the dtype of the model (for 4 bits, bnb_4bit_quant_storage too), set "
        "use_orig_params, or take FSDP2.",
        "torch 2.13.0 distributed/fsdp/_flat_param.py",
    ),
    KnownError(
        "ncclSystemError",
        "A call of NCCL to the system failed: it reaches no other machine, opens too many files, or gets no shared "
        "memory. No rank is wrong by its code.",
        "Run `distlint doctor`, on two machines with its job check, and the job with NCCL_DEBUG=INFO; "
        "NCCL_SOCKET_IFNAME names the network card.",
        "NCCL user guide, Troubleshooting",
    ),
    KnownError(
        "FlatParameter requires uniform",
        "FSDP of version 1 puts the parameters of a unit into one tensor, and some of them are frozen, as under "
        "LoRA: older releases of torch say so in these words.",
        "Set use_orig_params (`fsdp_use_orig_params: true` in accelerate's configuration), or take FSDP2.",
        "llm-foundry issue 414",
    ),
    KnownError(
        "has been modified by an inplace operation",
        "Where one process has no such error, DDP has copied rank 0's buffers, as those of BatchNorm, into the "
        "model between two forwards of one backward. torch 2.13 no longer counts that as a change.",
        "Send the loss of the first forward backward before the second, run both in one forward, or give DDP "
        "broadcast_buffers=False. `torch.autograd.set_detect_anomaly(True)` names other causes.",
        "pytorch issues 22095 and 175024, pull request 175851",
    ),
    KnownError(
        "ChildFailedError",
        "The launcher says that a rank ended with an error. Which one and why stands above, in the first "
        "traceback of that rank.",
        "Read the first traceback, and give that to `distlint explain`. `@record` of "
        "torch.distributed.elastic.multiprocessing.errors on main() puts it into the launcher's report.",
        "torch 2.13.0 distributed/elastic/multiprocessing/errors/__init__.py",
    ),
    KnownError(
        "torch.Size([0])",
        "A parameter was read outside of the forward of its FSDP unit, or under ZeRO-3: this rank holds a "
        "shard of it, or nothing.",
        "Go through the wrapped model, or gather first: deepspeed.zero.GatheredParameters, full_tensor(), "
        "distlint.runtime.full_state_dict.",
        "torch 2.13.0 distributed/fsdp/_flat_param.py",
    ),
    KnownError(
        "unhandled system error",
        "NCCL could not reach another GPU or machine: network, shared memory or a rank that is gone.",
        "`NCCL_DEBUG=INFO` names what failed; `distlint doctor` tries a collective and looks at the limits.",
        "NCCL 2.30.7 src/init.cc",
    ),
)
