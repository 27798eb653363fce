"""Arguments of transformers' Trainer that are other numbers in DeepSpeed's JSON."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.questions.named_jsons import trainer_arguments
from distlint.findings import Place
from distlint.knowledge.configuration.deepspeed_keys import TRAINER_VALUES
from distlint.launch import deepspeed
from distlint.launch.commands import Launch
from distlint.launch.project import Configuration, Format
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module


@dataclass(frozen=True, slots=True)
class Difference:
    """A number of the Trainer at `place`, and the JSON's, which stands at `other`."""

    place: Place
    argument: str
    given: str
    written: str
    other: Place
    key: str


def differing_options(configuration: Configuration, launch: Launch) -> Iterator[Difference]:
    """Arguments of transformers' Trainer, which must be what the JSON says."""
    if "per_device_train_batch_size" not in launch.arguments:
        return  # another program's arguments
    for argument, keys in TRAINER_VALUES:
        option = launch.arguments.get(argument)
        if option is not None and option.value is not None and option.sure:
            yield from _unlike(configuration, keys, f"--{argument}", option.value, option.place)


def differing_arguments(model: Model, module: Module) -> Iterator[Difference]:
    """The same arguments where the script gives them, with the name of the file."""
    for name, given in trainer_arguments(module):
        found = model.launch.named(name, module.path, Format.DEEPSPEED)
        if found is None:
            continue
        for argument, keys in TRAINER_VALUES:
            match given.get(argument):
                case ast.Constant(value=int() | float() as said) as node:
                    yield from _unlike(found, keys, argument, str(said), place_of(module, node))


def _unlike(
    configuration: Configuration, keys: tuple[str, ...], argument: str, given: str, place: Place
) -> Iterator[Difference]:
    """A number of the Trainer that is another one in the JSON."""
    said, written = _number(given), deepspeed.value_at(configuration.values, keys)
    if said is None or isinstance(written, bool) or not isinstance(written, (int, float, str)):
        return
    other = _number(str(written))
    if other is not None and other != said:
        yield Difference(
            place, argument, given, str(written), configuration.place(keys), ".".join(keys)
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
