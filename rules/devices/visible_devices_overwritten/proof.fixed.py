"""The proof of DL512, repaired by hand: the rank takes its entry of the list."""

import os

GIVEN = ("4", "5")
os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(GIVEN)

os.environ["CUDA_VISIBLE_DEVICES"] = GIVEN[int(os.environ["LOCAL_RANK"])]

seen = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
assert set(seen) <= set(GIVEN), f"given {GIVEN}, seen {seen}"
