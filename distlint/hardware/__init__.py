"""The machine itself: doctor, accelerate config, memory plan, rank sanitizer."""
