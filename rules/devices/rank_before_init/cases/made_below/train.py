"""A script that asks for the rank before a function makes the group."""

from meeting import own_rank, set_up

config = {"distributed": True}

rank = own_rank()  # expect: DL509
set_up(config)
print(rank)
