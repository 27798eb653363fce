"""Probes: each looks at one thing, in a process of its own that is killed when its time is up."""
