"""The doctor: probes look at the machine (and may hang), checks judge what they saw (and cannot)."""
