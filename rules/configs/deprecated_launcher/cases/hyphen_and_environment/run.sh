torchrun --nproc_per_node 8 train.py --lr 1
torchrun --nproc_per_node 1 only_one.py
