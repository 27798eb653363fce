"""Contracts of the runtime: randomness."""

from __future__ import annotations

from distlint.hardware.contracts import Contract

CONTRACTS: tuple[Contract, ...] = ()
