"""Findings on paper: one file for each output format."""
