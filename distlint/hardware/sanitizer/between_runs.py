"""Where the same script parts from itself: on one rank and on several, and between those.

Reads what `training_log` has written. What parts is an error of the program, or keeps the two runs
from being compared at all; what is only worth knowing is a note.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from distlint.hardware.sanitizer.disagreement import names_text, ranks_by, ranks_text
from distlint.hardware.sanitizer.events import Frame, Stack
from distlint.hardware.sanitizer.places import at_text, users_frame

_NEAR = 1e-3
"""How far, as a share of its norm, a parameter may be from the one of the other run."""

Summary = tuple[int, float, float, int]
"""Of a tensor: a sum over its bytes, its sum, its norm, its number of elements."""
Sample = int | str | None


@dataclass(frozen=True, slots=True)
class Step:
    """The state after a step of an optimizer; step 0 is before the first."""

    optimizer: int
    step: int
    parameters: dict[str, Summary]
    buffers: dict[str, Summary]
    own: tuple[str, ...]
    """Kinds of modules that do something else with a part of a batch: BatchNorm, Dropout."""
    stack: Stack


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over a DataLoader: its batches, and how many optimizer steps were made meanwhile."""

    samples: int | None
    batches: tuple[tuple[Sample, ...], ...]
    steps: int
    stack: Stack

    @property
    def drawn(self) -> list[Sample]:
        """All samples in order."""
        return [sample for batch in self.batches for sample in batch]


@dataclass(frozen=True, slots=True)
class Log:
    """What one rank has noted; the passes by the line that makes them and the size of the data."""

    steps: dict[int, list[Step]]
    passes: dict[tuple[Frame | None, int | None], list[Pass]]


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that is not the same; `what` is samples, steps, parameters or buffers."""

    what: str
    message: str
    stack: Stack

    @property
    def text(self) -> str:
        """With its place."""
        return f"{self.what}{at_text(self.stack)}: {self.message}"


@dataclass(slots=True)
class Parting:
    """All that is not the same between two runs."""

    parted: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    """What was found alike, in words."""


def read(folder: Path) -> dict[int, Log]:
    """The logs of a run, by rank."""
    return {int(path.stem): _log(path) for path in folder.glob("*.jsonl")}


def _log(path: Path) -> Log:
    log = Log({}, {})
    for line in path.read_text("utf-8").splitlines():
        one: dict[str, Any] = json.loads(line)
        stack = tuple(Frame(*frame) for frame in one["stack"])
        if one["kind"] == "step":
            values = [
                {name: (v[0], v[1], v[2], v[3]) for name, v in one[key].items()}
                for key in ("parameters", "buffers")
            ]
            step = Step(
                one["optimizer"], one["step"], values[0], values[1], tuple(one["own"]), stack
            )
            log.steps.setdefault(step.optimizer, []).append(step)
        else:
            batches = tuple(tuple(batch) for batch in one["batches"])
            made = Pass(one["samples"], batches, one["ended"] - one["begun"], stack)
            log.passes.setdefault((users_frame(stack), made.samples), []).append(made)
    return log


def compare(few: dict[int, Log], many: dict[int, Log]) -> Parting:
    """Compare a run with the same on more ranks, and the ranks of that with one another."""
    found = Parting()
    if not any(log.steps for log in many.values()):
        found.notes.append(Remark("steps", "no rank has made a step of a torch optimizer", ()))
        return found
    _compare_steps(few, many, found)
    alike = _compare_samples(few, many, found)
    _compare_ranks(many, found)
    _compare_runs(few[0], many[0], found, len(many), same_batches=alike)
    return found


def _compare_steps(few: dict[int, Log], many: dict[int, Log], found: Parting) -> None:
    for number in _optimizers(many):
        counts = {rank: len(log.steps.get(number, ())) - 1 for rank, log in sorted(many.items())}
        stack = next(log.steps[number][0].stack for log in many.values() if number in log.steps)
        if len({*counts.values()}) > 1:
            made = ranks_by({rank: f"{max(count, 0)} steps" for rank, count in counts.items()})
            told = ", ".join(f"{count} on {ranks_text(ranks)}" for count, ranks in made.items())
            found.parted.append(Remark("steps", f"optimizer {number} makes {told}", stack))
            continue
        alone = len(few[0].steps.get(number, ())) - 1
        told = f"{alone} on {_ranks(len(few))}, {counts[0]} on each of {len(many)}"
        found.compared.append(f"optimizer {number} makes as many steps on each rank ({told})")


def _optimizers(logs: dict[int, Log]) -> list[int]:
    """The numbers of those that some rank has followed."""
    return sorted({number for log in logs.values() for number in log.steps})


def _compare_samples(few: dict[int, Log], many: dict[int, Log], found: Parting) -> bool:
    """Whether each batch of the few ranks holds the samples that the many have in theirs together."""
    alike = True
    for key in dict.fromkeys(key for log in many.values() for key in log.passes):
        shares = [log.passes.get(key, []) for _, log in sorted(many.items())]
        alone = [log.passes.get(key, []) for _, log in sorted(few.items())]
        trains = any(one.steps for share in shares for one in share)
        for epoch, passes in enumerate(zip_longest(*shares), 1):
            theirs = [log[epoch - 1] for log in alone if len(log) >= epoch]
            if None in passes:
                continue  # The steps tell of it.
            remark = _parted_samples(epoch, theirs, list(passes))
            if remark is not None:
                alike &= not trains
                (found.parted if trains else found.notes).append(remark)
                break
            alike &= not trains or _batches(theirs) == _batches(passes)
        else:
            if (again := _same_order(alone, shares)) is not None and trains:
                found.parted.append(again)
            elif trains and shares[0] and None not in shares[0][0].drawn:
                found.compared.append(f"samples{at_text(shares[0][0].stack)} are shared out")
    return alike


def _batches(passes: Iterable[Pass]) -> list[Counter[Sample]]:
    """The samples of each batch, of all ranks together."""
    together = zip_longest(*(one.batches for one in passes), fillvalue=())
    return [Counter(sample for batch in batches for sample in batch) for batches in together]


def _parted_samples(epoch: int, alone: list[Pass], passes: list[Pass]) -> Remark | None:
    """A pass in which the ranks do not share out the samples."""
    drawn = [set(one.drawn) for one in passes]
    everything: set[Sample] = set().union(*drawn)
    expected: set[Sample] = set().union(*(one.drawn for one in alone)) if alone else everything
    if None in everything or not everything:
        return None
    stack = passes[0].stack
    head = f"in pass {epoch}, "
    common = set.intersection(*drawn)
    if common and common == everything and len(passes) > 1:
        seen = f"each of the {len(passes)} ranks takes the same {len(everything)} samples"
        advice = "share them out: a DistributedSampler, or the loader that `prepare` gives"
        return Remark("samples", f"{head}{seen}; {advice}", stack)
    counts = Counter(sample for one in passes for sample in one.drawn)
    twice = sorted((sample for sample, count in counts.items() if count > 1), key=str)
    # A sampler fills up with samples that there are already, so that all ranks have as many.
    step = max(len(batch) for one in passes for batch in one.batches) * len(passes)
    if len(twice) > step:
        told = f"{len(twice)} of {len(everything)} samples come on several ranks, or more than once"
        return Remark("samples", f"{head}{told} (sample {twice[0]}, for example)", stack)
    left_out = sorted(expected - everything, key=str)
    if len(left_out) > step:
        told = f"{len(left_out)} of {len(expected)} samples that one rank takes come on none"
        return Remark("samples", f"{head}{told} (sample {left_out[0]}, for example)", stack)
    return None


def _same_order(alone: list[list[Pass]], shares: list[list[Pass]]) -> Remark | None:
    """A loader that shuffles anew in each pass on one rank, and does not on several."""
    if not alone or len(alone[0]) < 2 or any(len(share) < 2 for share in shares):
        return None
    changes = alone[0][0].drawn != alone[0][1].drawn
    if not changes or any(share[0].drawn != share[1].drawn for share in shares):
        return None
    told = "passes 1 and 2 take the same samples in the same order, though one rank shuffles anew"
    return Remark(
        "samples", f"{told}; call `sampler.set_epoch(epoch)` before each", shares[0][0].stack
    )


def _compare_ranks(many: dict[int, Log], found: Parting) -> None:
    """What the ranks of one run hold after each step, to the bit."""
    for number in _optimizers(many):
        by_rank = {rank: log.steps.get(number, []) for rank, log in sorted(many.items())}
        named = False
        for states in zip(*by_rank.values(), strict=False):
            first = states[0]
            for what in ("parameters", "buffers"):
                held = {r: getattr(s, what) for r, s in zip(by_rank, states, strict=True)}
                if (told := _differing(held)) is None:
                    continue
                remark = Remark(what, f"{_when(first)}, {told}", first.stack)
                if what == "parameters":
                    found.parted.append(remark)
                    break
                if not named:
                    # Running statistics are each rank's own until DDP sends those of rank 0.
                    found.notes.append(remark)
                named = True
            else:
                continue
            break
        else:
            if any(states and states[0].parameters for states in by_rank.values()):
                found.compared.append(
                    f"the parameters of optimizer {number} are equal on all ranks after each step"
                )
            else:
                told = f"those of optimizer {number} are sharded or of no module: not compared"
                found.notes.append(Remark("parameters", told, ()))


def _differing(held: dict[int, dict[str, Summary]]) -> str | None:
    """Which tensors are not the same on ranks that have them in one size, and on which ranks."""
    names = set.intersection(*({*values} for values in held.values()))
    differing = [
        name
        for name in sorted(names)
        if len({values[name][3] for values in held.values()}) == 1
        and len({values[name][0] for values in held.values()}) > 1
    ]
    if not differing:
        return None
    alike = ranks_by({r: tuple(values[n][0] for n in differing) for r, values in held.items()})
    sides = " and ".join(ranks_text(ranks) for ranks in alike.values())
    return (
        f"{names_text(differing)} {'differs' if len(differing) == 1 else 'differ'} between {sides}"
    )


def _compare_runs(few: Log, many: Log, found: Parting, ranks: int, *, same_batches: bool) -> None:
    """What rank 0 holds in the two runs: before the first step, then nearly, after each."""
    for number in sorted(few.steps.keys() & many.steps.keys()):
        pairs = list(zip(few.steps[number], many.steps[number], strict=False))
        one, other = pairs[0]
        if not one.parameters.keys() & other.parameters.keys():
            continue
        if _differing({0: one.parameters, 1: other.parameters}) is not None:
            told = "they differ between the two runs; seed all ranks alike before the model is made"
            found.parted.append(Remark("parameters", f"{_when(one)}, {told}", one.stack))
            continue
        if not same_batches or any(log.passes == {} for log in (few, many)):
            told = (
                f"after the first step they are not compared with those of the other run: the "
                f"batches of {ranks} ranks together are not those of the other. Divide the batch size "
                "and leave the order alone to have them compared"
            )
            found.notes.append(Remark("parameters", told, other.stack))
            continue
        far = next(((a, b, names) for a, b in pairs if (names := list(_far(a, b)))), None)
        if far is None:
            found.compared.append(
                f"the parameters of optimizer {number} are those of the other run after each step"
            )
            continue
        told = f"{names_text(far[2])} {'parts' if len(far[2]) == 1 else 'part'} from the other run"
        if far[1].own:
            why = f"as {', '.join(far[1].own)} may have it: each rank has a part of the batch only"
            found.notes.append(
                Remark("parameters", f"{_when(far[1])}, {told}, {why}", far[1].stack)
            )
            continue
        told = f"{told}, though the batches are the same"
        found.parted.append(Remark("parameters", f"{_when(far[1])}, {told}", far[1].stack))


def _far(one: Step, other: Step) -> Iterator[str]:
    """The parameters that are not nearly equal."""
    for name in sorted(one.parameters.keys() & other.parameters.keys()):
        (_, total, norm, size), (_, total_, norm_, size_) = (
            state.parameters[name] for state in (one, other)
        )
        near = _NEAR * max(norm, norm_, 1e-12)
        if size == size_ and not (
            abs(norm - norm_) <= near and abs(total - total_) <= near * size**0.5
        ):
            yield name


def _when(step: Step) -> str:
    if not step.step:
        return f"before the first step of optimizer {step.optimizer}"
    return f"after step {step.step} of optimizer {step.optimizer}"


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"each of {count} ranks"
