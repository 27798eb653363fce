"""Activations by running the model's own code on fake tensors: shapes and types, no memory.

The model runs forward and backward once under FakeTensorMode, so every kind of block, loss and
attention mask is counted as it is written, not by a formula. Two numbers come out: the bytes that
autograd saves for backward, and the peak of all tensors that are alive, which adds what exists for
a moment only (the gradient of the logits, a block that is recomputed).

Deep models cost little: of equal blocks two are run, then three, and the rest follows, since every
further equal block adds the same.

Fake tensors of a GPU cannot run backward in a build of torch without CUDA, so they are the CPU's, and
two kernels are replaced by what the GPU's keep: fused attention (with dropout, or a bias that
learns, the CPU falls back to the unfused one) and grouped matrix products (which the CPU's meta
function only knows in bf16).
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from distlint.hardware.memory.activations import Compute, Kept

# Equal blocks that run: below this many the model is run as it is.
_FEW = 3


class TraceError(Exception):
    """The model does not run on fake tensors; the message is the first line of why."""


Inputs = Callable[[int, int], Iterator[dict[str, Any]]]
"""From batch and sequence to the keyword arguments to try, the best first."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Equal blocks of one list: the list's owner, its name there, and the indices of the equals."""

    owner: nn.Module
    name: str
    equal: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """Bytes of one step: saved for backward, and the most alive in either half."""

    saved: int
    forward: int
    backward: int

    def to(self, more: _Step) -> _Step:
        """The difference."""
        return _Step(
            more.saved - self.saved, more.forward - self.forward, more.backward - self.backward
        )

    def plus(self, each: _Step, times: int) -> _Step:
        """With so many times `each`."""
        return _Step(
            self.saved + times * each.saved,
            self.forward + times * each.forward,
            self.backward + times * each.backward,
        )


class Tracer:
    """A model that can be run on fake tensors at any batch and length.

    The model's parameters are replaced: it is of no other use afterwards.
    """

    def __init__(self, model: nn.Module, inputs: Inputs, *, whole: bool = False) -> None:
        """Takes `model`, on any device, with requires_grad as it will be trained.

        `whole` runs all of its blocks: for models that name a block by its index.
        """
        self._model = model
        self._inputs = inputs
        self._runs = () if whole else _equal_blocks(model)
        self._lists = {
            (run.owner, run.name): list(getattr(run.owner, run.name)) for run in self._runs
        }
        self._known: dict[tuple[Compute, bool, int, int], _Step] = {}

    def kept(self, compute: Compute, *, checkpointing: bool, batch: int, sequence: int) -> Kept:
        """Bytes for one step.

        Raises:
            TraceError: the model cannot be run in this way.
        """
        step = self._step(compute, checkpointing, batch, sequence)
        return Kept(step.saved, max(step.saved, step.forward, step.backward))

    def _step(self, compute: Compute, checkpointing: bool, batch: int, sequence: int) -> _Step:
        """Every sample adds the same: more than three are reckoned from two and three."""
        if batch > _FEW:
            two, three = (
                self._step(compute, checkpointing, few, sequence) for few in (_FEW - 1, _FEW)
            )
            return two.plus(two.to(three), batch - (_FEW - 1))
        key = (compute, checkpointing, batch, sequence)
        if key not in self._known:
            self._known[key] = self._measure(*key)
        return self._known[key]

    def _measure(self, compute: Compute, checkpointing: bool, batch: int, sequence: int) -> _Step:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if checkpointing:
                _recompute_blocks(self._model)
            elif hasattr(self._model, "gradient_checkpointing_disable"):
                self._model.gradient_checkpointing_disable()  # type: ignore[operator]

        def at_depth(depths: dict[_Run, int]) -> _Step:
            with self._depth(depths):
                return _run(self._model, self._inputs(batch, sequence), compute)

        shallow = dict.fromkeys(self._runs, _FEW - 1)
        base = total = at_depth(shallow)
        for run in self._runs:
            more = at_depth({**shallow, run: _FEW})
            total = total.plus(base.to(more), len(run.equal) - (_FEW - 1))
        return total

    @contextlib.contextmanager
    def _depth(self, depths: dict[_Run, int]) -> Iterator[None]:
        """Leaves so many of each run's blocks in the model."""
        dropped: dict[tuple[nn.Module, str], set[int]] = {}
        for run, depth in depths.items():
            dropped.setdefault((run.owner, run.name), set()).update(run.equal[depth:])
        try:
            for place, blocks in self._lists.items():
                gone = dropped[place]
                kept = (block for index, block in enumerate(blocks) if index not in gone)
                setattr(*place, nn.ModuleList(kept))
            yield
        finally:
            for place, blocks in self._lists.items():
                setattr(*place, nn.ModuleList(blocks))


def _equal_blocks(model: nn.Module) -> tuple[_Run, ...]:
    """Blocks that repeat, in the outermost lists: what is inside of a block is not taken apart."""
    runs: list[_Run] = []
    inside: set[nn.Module] = set()
    for owner in model.modules():
        if owner in inside:
            continue
        for name, child in owner.named_children():
            if not isinstance(child, nn.ModuleList):
                continue
            inside.update(child.modules())
            equals: dict[object, list[int]] = {}
            for index, block in enumerate(child):
                equals.setdefault(_signature(block), []).append(index)
            runs += [
                _Run(owner, name, tuple(equal)) for equal in equals.values() if len(equal) > _FEW
            ]
    return tuple(runs)


def _signature(block: nn.Module) -> object:
    """Equal for blocks that keep the same: class, kind of attention, and every parameter."""
    kinds = tuple(
        (name, getattr(module, "attention_type", None), getattr(module, "sliding_window", None))
        for name, module in block.named_modules()
    )
    return (
        type(block),
        kinds,
        tuple((name, p.shape, p.requires_grad) for name, p in block.named_parameters()),
    )


def _recompute_blocks(model: nn.Module) -> None:
    enable = getattr(model, "gradient_checkpointing_enable", None)
    if enable is None:
        raise TraceError(f"{type(model).__name__} has no gradient_checkpointing_enable()")
    try:
        enable(
            gradient_checkpointing_kwargs={
                "use_reentrant": False,
                # torch switches function modes off while backward runs; the recomputed block
                # must take the same kernels as the first time.
                "context_fn": lambda: (contextlib.nullcontext(), _GpuKernels()),
            }
        )
    except ValueError as error:
        raise TraceError(str(error)) from error


def _run(model: nn.Module, attempts: Iterator[dict[str, Any]], compute: Compute) -> _Step:
    """One step with the first inputs that the model takes."""
    failure: Exception | None = None
    fake = FakeTensorMode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _make_fake(model, fake, compute)
        with fake:
            while (arguments := next(attempts, None)) is not None:
                try:
                    return _train(model, arguments, compute)
                except Exception as error:  # whatever a model raises about its own arguments
                    failure = failure or error
    assert failure is not None
    text = str(failure).strip().splitlines()
    raise TraceError(
        f"{type(failure).__name__}: {text[0]}" if text else type(failure).__name__
    ) from failure


def _make_fake(model: nn.Module, fake: FakeTensorMode, compute: Compute) -> None:
    """Replaces every tensor of the model by a fake one of the type that it computes in."""
    made: dict[int, torch.Tensor] = {}
    frozen_some = not all(p.requires_grad for p in model.parameters())

    def parameter(old: torch.Tensor) -> nn.Parameter:
        dtype = old.dtype
        if dtype.is_floating_point:
            dtype = _parameter_dtype(compute, old.requires_grad or not frozen_some)
        with fake:
            return nn.Parameter(
                torch.empty(old.shape, dtype=dtype, device="cpu"), requires_grad=old.requires_grad
            )

    def constant(old: torch.Tensor) -> torch.Tensor:
        with fake:
            return torch.empty(old.shape, dtype=old.dtype, device="cpu")

    def once(old: torch.Tensor, make: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        if id(old) not in made:
            made[id(old)] = make(old)
            keep.append(old)
        return made[id(old)]

    keep: list[torch.Tensor] = []  # an id is only good while its tensor lives
    for module in model.modules():
        for name, old in module._parameters.items():
            if old is not None:
                module._parameters[name] = once(old, parameter)  # type: ignore[assignment]
        for name, held in module._buffers.items():
            if held is not None:
                module._buffers[name] = once(held, constant)
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                vars(module)[name] = once(value, constant)


def _parameter_dtype(compute: Compute, trained: bool) -> torch.dtype:
    match compute:
        case Compute.FP32:
            return torch.float32
        case Compute.AUTOCAST:
            return torch.float32 if trained else torch.bfloat16
        case Compute.BF16:
            return torch.bfloat16


def _train(model: nn.Module, arguments: dict[str, Any], compute: Compute) -> _Step:
    """Forward and backward of one batch, with every storage accounted for."""
    if compute is Compute.BF16:
        arguments = {
            name: value.to(torch.bfloat16)
            if isinstance(value, torch.Tensor) and value.is_floating_point()
            else value
            for name, value in arguments.items()
        }
    model.train()
    ledger = _Ledger()
    for tensor in (*model.parameters(), *model.buffers()):
        ledger.ignore(tensor)
    for value in arguments.values():
        if isinstance(value, torch.Tensor):
            ledger.hold(value)
    hooks = [
        p.register_post_accumulate_grad_hook(ledger.take_gradient)  # type: ignore[no-untyped-call]
        for p in model.parameters()
        if p.requires_grad
    ]
    try:
        with _GpuKernels(), ledger:
            with (
                torch.autograd.graph.saved_tensors_hooks(ledger.saved, lambda tensor: tensor),
                torch.autocast("cpu", torch.bfloat16, enabled=compute is Compute.AUTOCAST),
            ):
                output = model(**arguments)  # held until backward is done, as training loops do
            loss = _loss(output)
            half = ledger.now()
            if loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
    finally:
        for hook in hooks:
            hook.remove()
    return _Step(ledger.saved_bytes, *ledger.peaks(half))


def _loss(output: Any) -> torch.Tensor:
    """The model's own loss, else the sum of the first tensor that it returns."""
    loss = getattr(output, "loss", None)
    if isinstance(loss, torch.Tensor):
        return loss
    for leaf in tree_leaves(dict(output) if isinstance(output, dict) else output):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            return leaf.float().sum()
    raise TraceError("the model returns no tensor of numbers")


class _Ledger(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every storage that comes and goes while it is active, in order.

    Gradients of parameters are left out: the plan counts them with the states.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.saved_bytes = 0
        self._serials: dict[int, int] = {}  # address of a living storage -> its serial
        self._sizes: list[int] = []  # by serial; 0 where it is not to be counted
        self._events: list[int] = []  # serial + 1 when it comes, its negative when it goes
        self._saved: set[int] = set()

    def ignore(self, tensor: torch.Tensor) -> None:
        """This tensor's storage is no activation."""
        self._sizes[self._serial(tensor)] = 0

    def hold(self, tensor: torch.Tensor) -> None:
        """This tensor is there already, and counts."""
        self._serial(tensor)

    def saved(self, tensor: torch.Tensor) -> torch.Tensor:
        """A pack hook of autograd: each storage once."""
        serial = self._serial(tensor)
        if serial not in self._saved:
            self._saved.add(serial)
            self.saved_bytes += self._sizes[serial]
        return tensor

    def take_gradient(self, parameter: torch.Tensor) -> None:
        """A hook of autograd: the gradient is none of ours, and goes."""
        if parameter.grad is not None:
            self.ignore(parameter.grad)
            parameter.grad = None

    def now(self) -> int:
        """The moment, for `peaks`."""
        return len(self._events)

    def peaks(self, moment: int) -> tuple[int, int]:
        """The most bytes that were alive at once, before the moment and after it."""
        sizes = (
            self._sizes[event - 1] if event > 0 else -self._sizes[-event - 1]
            for event in self._events
        )
        alive = [0, *accumulate(sizes)]
        return max(alive[: moment + 1]), max(alive[moment:])

    def _serial(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        address = storage._cdata
        serial = self._serials.get(address)
        if serial is None:
            serial = self._serials[address] = len(self._sizes)
            self._sizes.append(storage.nbytes())
            self._events.append(serial + 1)
            weakref.finalize(storage, self._gone, address).atexit = False
        return serial

    def _gone(self, address: int) -> None:
        self._events.append(-self._serials.pop(address) - 1)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._serial(leaf)
        return result


class _GpuKernels(TorchFunctionMode):
    """Takes the GPU's fused kernels where the CPU has none, by what they keep for backward."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is nn.functional.scaled_dot_product_attention:
            return _attention(*args, **kwargs)
        if func in _GROUPED_PRODUCTS:
            return _GroupedProduct.apply(args[0], args[1])  # type: ignore[no-untyped-call]
        return func(*args, **kwargs)


_GROUPED_PRODUCTS = tuple(
    function
    for function in (
        getattr(nn.functional, "grouped_mm", None),
        getattr(torch, "_grouped_mm", None),
    )
    if function is not None
)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    *_: object,
    **__: object,
) -> torch.Tensor:
    """Fused attention: dropout keeps a seed, grouped queries share keys, and no a*s*s matrix."""
    tensors = [query, key, value]
    if attn_mask is not None:
        tensors.append(attn_mask)
    if torch.is_autocast_enabled("cpu"):
        tensors = [t.to(torch.bfloat16) if t.is_floating_point() else t for t in tensors]
    result: torch.Tensor = _FusedAttention.apply(*tensors)  # type: ignore[no-untyped-call]
    return result


class _FusedAttention(torch.autograd.Function):
    """Keeps query, key, value, mask, output and one number for each row of the softmax."""

    @staticmethod
    def forward(ctx: Any, *tensors: torch.Tensor) -> torch.Tensor:
        query, value = tensors[0], tensors[2]
        # Laid out by token, as the kernels do: the transpose that follows copies nothing.
        *lead, heads, rows, _ = query.shape
        output = query.new_empty((*lead, rows, heads, value.shape[-1])).transpose(-2, -3)
        sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(*tensors, output, sums)
        return output

    @staticmethod
    def backward(ctx: Any, *_gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *tensors, _, _ = ctx.saved_tensors
        return tuple(
            torch.empty_like(tensor) if needed else None
            for tensor, needed in zip(tensors, ctx.needs_input_grad, strict=True)
        )


class _GroupedProduct(torch.autograd.Function):
    """One matrix product for each expert: keeps both sides."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(rows, weight)
        return rows.new_empty((rows.shape[0], weight.shape[-1]))

    @staticmethod
    def backward(ctx: Any, *_gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows, weight = ctx.saved_tensors
        return torch.empty_like(rows), torch.empty_like(weight)
