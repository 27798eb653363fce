# The launch of the other project, behind its own train.py:
# torchrun --nproc_per_node=4 run_glue.py
torchrun --nproc_per_node=4 run_clm.py
