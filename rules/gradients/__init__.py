"""Decisions, losses and gradients that the ranks do not share (DL6xx)."""
