"""Launcher and library configuration files (DL8xx)."""
