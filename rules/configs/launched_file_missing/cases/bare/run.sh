torchrun --nproc_per_node 7 train.py
torchrun --nproc_per_node 7 projects/train.py
