"""Whose a value is: this rank's share, a sum over the ranks, or the whole."""
