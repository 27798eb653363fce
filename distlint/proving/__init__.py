"""Proofs: scripts that go wrong on several processes, run to see that they do (docs/proofs.md)."""
