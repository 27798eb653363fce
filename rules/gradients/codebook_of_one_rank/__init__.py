"""A codebook that learns by moving averages learns from one rank's part of each batch.

## What it does
Reports a module of vector quantisation (VQ-VAE, neural codecs) that counts which codes this rank's batch uses, keeps moving
averages of the counts and of the vectors in buffers, and sets its codebook from them, where several ranks train the
model and nothing in the class adds the batch's part up over the ranks. One finding for each class, at the first average.

## Why it is bad
Moving averages are no gradients: nobody averages them over the ranks. DistributedDataParallel sends rank 0's buffers to all in front of
each forward, so what the other ranks have counted since is lost: on eight GPUs the codebook sees an eighth of the data,
while encoder and decoder see all of it, and codes that only the other ranks' samples need die. With `broadcast_buffers=False` each rank
ends with a codebook of its own, and what is saved is rank 0's.

## Example
```python
self.cluster_size.data.mul_(decay).add_(counts, alpha=1 - decay)
self.embed_avg.data.mul_(decay).add_(sums, alpha=1 - decay)
self.embed.data.copy_(self.embed_avg / self.cluster_size[:, None])
```

## Use instead
```python
if dist.is_initialized():
    dist.all_reduce(counts)
    dist.all_reduce(sums)
self.cluster_size.data.mul_(decay).add_(counts, alpha=1 - decay)
self.embed_avg.data.mul_(decay).add_(sums, alpha=1 - decay)
self.embed.data.copy_(self.embed_avg / self.cluster_size[:, None])
```

## Fix safety
Shown only: the sums need tensors of their own, and codes that are dead are drawn anew from one rank's samples, which the ranks have
to agree on as well.

## Known limits
Silent where a method of the class, or what it calls in its file, adds up or gathers over ranks, where no file that imports the class trains,
and where a script that makes a model with it freezes it (`requires_grad_(False)`, `.eval()` without a `.train()`).

## References
- torch 2.13.0 torch/nn/parallel/distributed.py, `_sync_buffers`: rank 0's buffers go to all ranks in front of a forward
- WavTokenizer 5cf440d encoder/quantization/core_vq.py:221: the averages of the codec it was made from, whose `all_reduce` is not there
- SpeechTokenizer 30c96fb speechtokenizer/quantization/core_vq.py:219
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.several import uses_ranks
from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.buffers import kept_apart
from distlint.analysis.questions.built import classes_of, parts
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.patterns import pattern
from distlint.rule import Status

from .averages import Learned, learned

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Class, Function, Module

CODE = "DL625"
NAME = "codebook-of-one-rank"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (b"cluster_size",)

_TRAINS: Final = pattern(r"\.backward\(|\bmanual_backward\(|\bdef training_step\(|\bTrainer\(")
_TRAINED_ON: Final = r"\b{name}\.train\((?!False|mode=False)"
_FROZEN: Final = r"\b{name}(?:\.\w+)*\.(?:eval\(\)|requires_grad_\(False\))|\bin {name}\.parameters\(\):\s+\w+\.requires_grad = False"


def check(model: Model) -> Iterator[Finding]:
    """Each class whose codebook follows moving averages of this rank's batches."""
    for module in model.modules:
        for cls in module.all_classes:
            found = learned(model, cls)
            if found is not None and uses_ranks(model.program, module) and _is_trained(model, cls):
                yield _finding(model, found)


def _is_trained(model: Model, cls: Class) -> bool:
    """Whether files that import a class train, and none freezes a model that it is a part of."""
    above = importers(model.program, cls.module)
    if not any(_TRAINS.search(module.source.text) for module in above):
        return False
    holders = {each for m in above for each in m.all_classes if cls in parts(model, each)[0]}
    return not any(
        _is_frozen(module, path)
        for module in above
        for function in module.all_functions
        for path in _made(model, function, holders)
        # What is local to a file that does not train is made to be looked at (WavTokenizer decoder/pretrained.py:113).
        if path.startswith("self.") or _TRAINS.search(module.source.text)
    )


def _made(model: Model, function: Function, holders: set[Class]) -> Iterator[str]:
    """What a function calls the objects of these classes that it makes."""
    for path, values in assignments(function).items():
        if any(classes_of(model, function, value, 2) & holders for value in values):
            yield path


def _is_frozen(module: Module, path: str) -> bool:
    """Whether a file freezes what goes by a name: to evaluate it and to go on training is another thing.

    AiT 3527d50 vae/train_depth_vqvae_dist.py:27: `validation(vae, …)` begins with `vae.eval()`, and ends with `vae.train()`.
    """
    name, text = re.escape(path), module.source.text
    trained = re.search(_TRAINED_ON.format(name=name), text) is not None
    return any(
        not (trained and found[0].endswith("eval()"))
        for found in re.finditer(_FROZEN.format(name=name), text)
    )


def _finding(model: Model, found: Learned) -> Finding:
    advice = "Add this batch's counts and sums up over the ranks in front of the averages: `dist.all_reduce(…)`"
    module = found.function.module
    follows = (
        "the buffers are not broadcast: each rank ends with a codebook of its own, and one of them is saved"
        if model.answer(kept_apart)
        else "DDP sends rank 0's to all: what the other ranks counted is lost"
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"the averages that `{found.table}` is set from follow this rank's part of the batch alone, and {follows}. "
        f"{advice}.",
        place_of(module, found.average),
        (related(module, found.setting, "the codebook is set from them"),),
        Fix(Applicability.DISPLAY, advice),
    )
