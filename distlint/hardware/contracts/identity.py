"""Contracts of the runtime: identity."""

from __future__ import annotations

from distlint.hardware.contracts import Contract

CONTRACTS: tuple[Contract, ...] = ()
