"""The rank sanitizer of `distlint run`: which rank did what else than the others, and where.

`recorder` runs inside each rank and tells each collective, before it starts, over a pipe;
`ranks` starts the ranks, or `launcher` has them started, and `supervision` reads what they tell;
`comparison` compares the sequences of the ranks, one sequence a process group, and knows no process;
`report` words what was found. `flight_recorder` compares the dumps of a run that is over.
"""
