"""Devices and the environment that chooses them (DL5xx)."""
