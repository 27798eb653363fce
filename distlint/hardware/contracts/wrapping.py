"""Contracts of the runtime: wrapping."""

from __future__ import annotations

from distlint.hardware.contracts import Contract

CONTRACTS: tuple[Contract, ...] = ()
