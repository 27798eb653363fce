cd work
torchrun --nproc_per_node 7 main/train.py
