"""The abstract runs: one function followed by one class of ranks, and what that leaves behind."""
