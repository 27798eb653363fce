"""Carrying out fixes: edits as data (`edits`), applied with LibCST (`engine`), written atomically."""
