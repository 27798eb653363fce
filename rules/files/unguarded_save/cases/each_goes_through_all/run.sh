torchrun --nproc_per_node 4 encode.py
