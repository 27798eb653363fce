python3 -m oneflow.distributed.launch --nproc_per_node 8 train.py
