torchrun --nproc_per_node=2 main.py --size small
