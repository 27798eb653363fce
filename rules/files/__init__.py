"""Races on the file system (DL3xx)."""
