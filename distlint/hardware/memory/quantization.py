"""Bytes of quantized weights: the formats of `quantization_config`, and which weights they cover.

Computed from the formats, not measured: `bitsandbytes` and its kind need a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from distlint.hardware.memory.errors import ModelSizeError


@dataclass(frozen=True, slots=True)
class Format:
    """A quantized format: its name, bytes for each weight with its scales, and where that is from."""

    name: str
    bytes_per_weight: Fraction
    source: str

    def size(self, weights: int) -> int:
        """Bytes of so many weights."""
        return -(-weights * self.bytes_per_weight.numerator // self.bytes_per_weight.denominator)


_NF4 = Format(
    "4bit",
    Fraction(1, 2) + Fraction(4, 64),
    "bitsandbytes 0.45 functional.py quantize_4bit: one fp32 scale for 64 weights",
)
_NF4_DOUBLE = Format(
    "4bit-double",
    Fraction(1, 2) + Fraction(1, 64) + Fraction(4, 64 * 256),
    "bitsandbytes 0.45 functional.py: scales in 8 bits, one fp32 scale for 256 of them",
)
_INT8 = Format(
    "8bit", Fraction(1), "bitsandbytes 0.45 nn/modules.py Int8Params: one fp32 scale for a row"
)
_FP8 = Format(
    "fp8",
    1 + Fraction(4, 128 * 128),
    "transformers integrations/finegrained_fp8.py: one fp32 scale for 128 x 128 weights",
)
FORMATS = {format.name: format for format in (_NF4, _NF4_DOUBLE, _INT8, _FP8)}


def format_asked(name: str | None) -> Format | None:
    """The format of a name that the user chose among FORMATS; `none` and None have none."""
    return FORMATS.get(name or "none")


def format_of(file: object, described: Any) -> Format | None:
    """The format that a `quantization_config` names, None where there is none.

    Raises:
        ModelSizeError: one that is not known here.
    """
    if described is None:
        return None
    if not isinstance(described, dict):
        raise ModelSizeError(f"{file}: quantization_config is not an object")
    method = described.get("quant_method")
    if method is None and (described.get("load_in_4bit") or described.get("load_in_8bit")):
        method = "bitsandbytes"
    match method:
        case "bitsandbytes" if described.get("load_in_4bit"):
            return _NF4_DOUBLE if described.get("bnb_4bit_use_double_quant") else _NF4
        case "bitsandbytes":
            return _INT8
        case "fp8" | "fbgemm_fp8":
            return _FP8
        case "gptq" | "awq":
            return _grouped(file, str(method), described)
        case _:
            raise ModelSizeError(
                f"{file}: quantization_config has quant_method {method!r}, whose size is not known "
                f"here; give --quantize {'|'.join(FORMATS)} or none"
            )


def _grouped(file: object, method: str, described: dict[str, Any]) -> Format:
    """GPTQ and AWQ: packed integers, and for each group one fp16 scale and one packed zero."""
    bits = described.get("bits", described.get("w_bit", 4))
    group = described.get("group_size", described.get("q_group_size", 128))
    if bits not in (2, 3, 4, 8) or not isinstance(group, int) or not (group == -1 or group > 0):
        raise ModelSizeError(
            f"{file}: quantization_config has bits {bits!r} and group_size {group!r}; bits are 2, "
            "3, 4 or 8, and group_size is positive or -1"
        )
    scales = Fraction(0) if group == -1 else (2 + Fraction(bits, 8)) / group
    return Format(
        f"{method} {bits}bit",
        Fraction(bits, 8) + scales,
        "autoawq 0.2 and gptqmodel 2: qweight, qzeros and scales of a quantized linear layer",
    )
