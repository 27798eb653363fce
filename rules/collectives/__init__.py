"""Ranks that wait for each other for ever (DL1xx)."""
