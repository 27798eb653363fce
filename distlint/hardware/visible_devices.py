"""CUDA_VISIBLE_DEVICES as CUDA and torch read it, and what is wrong with a value.

torch 2.13.0, cuda/__init__.py, _parse_visible_devices: the leading digits of each element count
("1gpu2" is 1), the first element without a number or with a negative one ends the list, and a
doubled one empties it, all without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ELEMENT = re.compile(r"\+?\d+")
_UUID = re.compile(r"(GPU|MIG)-[0-9A-Za-z/-]+")


@dataclass(frozen=True, slots=True)
class Visible:
    """What a value makes visible.

    Attributes:
        devices: ordinals as numbers or identifiers as text, in the order in which torch numbers
            them; None where the variable is unset and all are visible.
        malformed: elements that are not what their writer meant.
        doubled: elements that occur twice, which hides every device.
    """

    devices: tuple[int | str, ...] | None
    malformed: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()


def read_visible_devices(value: str | None) -> Visible:
    """What a value of CUDA_VISIBLE_DEVICES makes visible; None for an unset variable."""
    if value is None:
        return Visible(None)
    elements = value.split(",")
    if value.startswith(("GPU-", "MIG-")):
        return _identifiers(elements, value[:4])
    seen: list[int | str] = []
    malformed = tuple(e for e in elements if not _ELEMENT.fullmatch(e.strip()) and not _hides(e))
    if value.strip() == "":
        return Visible(())
    for element in elements:
        number = _leading_number(element.strip())
        if number in seen:
            return Visible((), malformed, (element.strip(),))
        if number < 0:
            break
        seen.append(number)
    return Visible(tuple(seen), malformed)


def _identifiers(elements: list[str], prefix: str) -> Visible:
    seen: list[int | str] = []
    malformed = tuple(e for e in elements if not (e.startswith(prefix) and _UUID.fullmatch(e)))
    for element in elements:
        if element in seen:
            return Visible((), malformed, (element,))
        if not element.startswith(prefix):
            break
        seen.append(element)
    return Visible(tuple(seen), malformed)


def _hides(element: str) -> bool:
    """The two ways of hiding GPUs on purpose: a negative number and NoDevFiles."""
    return element.strip() in ("-1", "NoDevFiles")


def _leading_number(element: str) -> int:
    match = re.match(r"[+-]?\d+", element)
    return int(match[0]) if match else -1
