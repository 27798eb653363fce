"""Contracts of the runtime: saving."""

from __future__ import annotations

from distlint.hardware.contracts import Contract

CONTRACTS: tuple[Contract, ...] = ()
