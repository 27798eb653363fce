"""Traces of the classes of ranks: decision graphs, their comparison, and the witness of a difference."""
