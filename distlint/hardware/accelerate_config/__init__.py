"""accelerate's configuration file: what is in it, what goes together, how it is written."""
