python3 -m launch --nnodes=2 --nproc_per_node=16 train.py
