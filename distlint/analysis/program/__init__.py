"""What the files say: syntax, the modules and their names, classes with their bases, functions."""
