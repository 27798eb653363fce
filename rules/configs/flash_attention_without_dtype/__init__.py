"""A model with FlashAttention is loaded in fp32.

## What it does
Reports `from_pretrained(…, attn_implementation="flash_attention_2")`, and `use_flash_attention_2=True`, without
`dtype`, `torch_dtype` or a quantization, in files that name neither fp16 nor bf16, where no file that imports them does,
nor a launch (`--bf16`). Where the precision comes from the command line, of which nobody says anything: information.

## Why it is bad
FlashAttention takes fp16 and bf16 only. Before transformers 5, a model without a dtype is loaded in fp32: the first
forward raises on every rank, or, where only a part is cast, attention runs in another precision than was planned. Later
versions take the dtype of the checkpoint, which may be fp32 as well.

## Errors you may see
- `FlashAttention only support fp16 and bf16 data type`
- `FlashAttention only supports fp16 and bf16 data type`
- `You are attempting to use Flash Attention 2 without specifying a torch dtype`

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="flash_attention_2")
```

## Use instead
```python
model = AutoModelForCausalLM.from_pretrained(
    name, attn_implementation="flash_attention_2", torch_dtype=torch.bfloat16
)
```

## Fix safety
Unsafe: the weights are bf16 afterwards, and numbers change. `torch_dtype` is the name that all versions take; where
the project's requirements, pyproject.toml or lock file ask for transformers 4.56 or later, `dtype` is written.

## Known limits
Silent where the file casts (`.half()`, `autocast`), names a mixed precision, or hands on `**kwargs`. Which dtype the
checkpoint has is not known.

Not proven: needs a GPU and flash-attn.

## References
- transformers 5.23.0, `modeling_utils.py`: `from_pretrained`, `_flash_attn_2_can_dispatch`
- flash-attn 2.8.3, `csrc/flash_attn/flash_api.cpp`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import AddImport
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.patterns import pattern
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL804"
NAME = "flash-attention-without-dtype"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (b"flash_attention_2", b"flash_attention_3")
NEEDS_RANKS = False

_FLASH = ("flash_attention_2", "flash_attention_3")
_NAMED_DTYPE = (4, 56)
"""The version of transformers since which `torch_dtype` is called `dtype`."""
_LOADS = ("from_pretrained", "from_config")
_SAYS = frozenset(
    {"dtype", "torch_dtype", "quantization_config", "load_in_8bit", "load_in_4bit", None}
)
"""Keywords that give the dtype, or may: `None` is `**kwargs`."""
_CASTS = pattern(
    r"bf16|fp16|bfloat16|float16|autocast|mixed_precision|\.half\(|precision=|set_default_dtype"
)

_PRECISIONS = frozenset({"bf16", "fp16", "mixed_precision", "precision", "dtype", "torch_dtype"})
"""Options of launches, and of `accelerate launch`, that choose another precision than fp32."""
_OFF = pattern(r"\b(?:bf16|fp16)\s*=\s*False\b")


def check(model: Model) -> Iterator[Finding]:
    """Models with FlashAttention that nobody gives a dtype."""
    for module in model.modules:
        text = module.source.text
        if not any(word in text for word in _FLASH) and "use_flash_attention_2" not in text:
            continue
        above = importers(model.program, module)
        if any(_casts(model, each) for each in above):
            continue
        told = any("HfArgumentParser" in each.source.text for each in above)
        for function in module.all_functions:
            for node in own_nodes(function, ast.Call):
                match node:
                    case ast.Call(func=ast.Attribute(attr=attr)) if (
                        attr in _LOADS and _uses_flash(node) and not _has_dtype(node)
                    ):
                        dtype = "torch_dtype=torch.bfloat16"
                        if model.launch.asks_for("transformers", _NAMED_DTYPE, module.path):
                            dtype = dtype.removeprefix("torch_")
                        edit = with_keyword(text, node, dtype)
                        edits = (AddImport("torch"), edit) if edit is not None else ()
                        yield Finding(
                            CODE,
                            NAME,
                            Severity.INFO if told else SEVERITY,
                            "FlashAttention refuses fp32, in which the model may be loaded: the first forward "
                            f"raises on every rank. Give `{dtype}`.",
                            place_of(module, node),
                            (),
                            Fix(Applicability.UNSAFE, "Load in bf16", edits) if edits else None,
                        )


def _casts(model: Model, module: Module) -> bool:
    """Whether a file, or a launch of it, says that the forward runs in another precision than fp32.

    honeybee 68a8d84 train.py:144 casts the model whose class loads a part of it in honeybee/modeling_honeybee.py:89. Who
    takes the precision from the command line (EfficientQAT 78fd3fb deita_dataset/train.py) may be told `--bf16`.
    """
    return _CASTS.search(_OFF.sub("", module.source.text)) is not None or any(
        not _PRECISIONS.isdisjoint((*launch.options, *launch.arguments))
        for _, launch in model.launch.starting(module.path)
    )


def _uses_flash(call: ast.Call) -> bool:
    for keyword in call.keywords:
        match keyword.arg, keyword.value:
            case "attn_implementation" | "_attn_implementation", ast.Constant(value=value):
                return value in _FLASH
            case "use_flash_attention_2", ast.Constant(value=True):
                return True
    return False


def _has_dtype(call: ast.Call) -> bool:
    return any(keyword.arg in _SAYS for keyword in call.keywords)
