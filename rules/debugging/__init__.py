"""Debugging aids left in code that several ranks run (DL7xx)."""
