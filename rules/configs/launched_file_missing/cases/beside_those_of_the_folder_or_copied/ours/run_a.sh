torchrun --nproc_per_node=4 pretrain_a.py
