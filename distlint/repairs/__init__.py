"""From findings to edits: what the fixes of several rules share. Edits are data; `fixing` carries them out."""
