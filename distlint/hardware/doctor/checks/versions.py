"""Installed versions that do not go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, Unknown
from distlint.hardware.version_numbers import normalised, requirement, satisfies


@dataclass(frozen=True, slots=True)
class Pair:
    """A row: with this version of one package, another must be in a range; the metadata of the
    packages does not say so, because the other one is optional there."""

    package: str
    versions: str
    needs: str
    clauses: str
    why: str
    source: str


PAIRS: tuple[Pair, ...] = (
    Pair(
        "transformers",
        ">=5",
        "torch",
        ">=2.6",
        "transformers does not use an older torch: its models are placeholders that raise.",
        "transformers 5.23.0 dependency_versions_table.py",
    ),
    Pair(
        "transformers",
        ">=5",
        "accelerate",
        ">=1.1.0",
        "Trainer raises ImportError.",
        "transformers 5.23.0 utils/import_utils.py: ACCELERATE_MIN_VERSION",
    ),
    Pair(
        "transformers",
        ">=5.23",
        "peft",
        ">=0.20.0",
        "loading an adapter raises.",
        "transformers 5.23.0 dependency_versions_table.py",
    ),
    Pair(
        "transformers",
        ">=4.46",
        "deepspeed",
        ">=0.9.3",
        "Trainer refuses it.",
        "transformers 5.23.0 dependency_versions_table.py",
    ),
    Pair(
        "torch",
        "<2.3",
        "numpy",
        "<2",
        "torch was built against NumPy 1: .numpy() and DataLoader fail with _ARRAY_API not found.",
        "torch 2.3.0 release notes: the first with NumPy 2 support",
    ),
)

# accelerate 1.15.0 utils/constants.py: FSDP2_PYTORCH_VERSION
_FSDP2_TORCH = ">=2.6.0"


def installed(machine: Machine) -> Iterator[Result]:
    """Requirements in the packages' own metadata, the table above, and the configuration."""
    packages = machine.packages
    if isinstance(packages, Unknown):
        yield skipped(packages.reason)
        return
    versions = {normalised(package.name): package.version for package in packages}
    if not versions:
        yield skipped("none of the training libraries is installed here")
        return
    found = list(_metadata(machine, versions))
    for pair in PAIRS:
        mine, other = versions.get(pair.package), versions.get(pair.needs)
        if (
            mine is not None
            and other is not None
            and satisfies(mine, pair.versions)
            and not satisfies(other, pair.clauses)
        ):
            found.append(
                error(
                    f"{pair.package} {mine} with {pair.needs} {other}",
                    pair.why,
                    f"pip install '{pair.needs}{pair.clauses}'",
                )
            )
    fsdp = machine.accelerate.get("fsdp_config")
    torch = versions.get("torch")
    if (
        isinstance(fsdp, dict)
        and fsdp.get("fsdp_version") == 2
        and torch is not None
        and not satisfies(torch, _FSDP2_TORCH)
    ):
        found.append(
            error(
                f"fsdp_version 2 with torch {torch}",
                "accelerate raises ImportError on every rank.",
                f"pip install 'torch{_FSDP2_TORCH}', or fsdp_version: 1",
            )
        )
    shown = ", ".join(
        f"{name} {versions[name]}"
        for name in ("torch", "accelerate", "transformers", "peft", "deepspeed", "trl")
        if name in versions
    )
    yield from found or [ok(shown or f"{len(versions)} packages go together")]


def _metadata(machine: Machine, versions: Mapping[str, str]) -> Iterator[Result]:
    assert not isinstance(machine.packages, Unknown)
    for package in machine.packages:
        for line in package.requires:
            needs, clauses = requirement(line)
            other = versions.get(needs)
            if other is not None and not satisfies(other, clauses):
                yield warning(
                    f"{package.name} {package.version} requires {needs}{clauses}; "
                    f"{other} is installed",
                    "it was not made for this version: imports or calls fail, often on one path "
                    "only.",
                    f"pip install '{needs}{clauses}', or another {package.name}.",
                )


CHECKS = (Check("versions", "versions", installed),)
