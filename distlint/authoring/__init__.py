"""Writing a rule: its folder, the scaffold of a new one, and the test of what is in it."""
