"""A script that makes the group by a function at its top, and asks for the rank below."""

from meeting import own_rank, set_up

config = {"distributed": True}

shown = set_up(config)
# neuraloperator 7292dc2 scripts/train_darcy.py:102
rank = own_rank() if config["distributed"] else 0
print(shown, rank)
