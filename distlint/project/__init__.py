"""Which files, which settings, suppressions, baseline, cache, notebooks."""
