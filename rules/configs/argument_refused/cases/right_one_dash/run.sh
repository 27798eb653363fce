torchrun --nproc_per_node 8 main.py -epochs -x -1
