"""Random numbers that agree where they must differ, or the reverse (DL4xx)."""
