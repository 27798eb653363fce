"""Goes wrong on 2 ranks: wrong result.
Fix: by hand

The job was given GPUs 4 and 5, and its ranks take 0 and 1.
"""

import os

GIVEN = ("4", "5")
os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(GIVEN)

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]  # expect: DL512

seen = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
assert set(seen) <= set(GIVEN), f"given {GIVEN}, seen {seen}"
