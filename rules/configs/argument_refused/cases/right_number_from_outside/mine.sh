num=4
torchrun --nproc_per_node=$num main.py --size tiny
torchrun --nproc_per_node=$ranks other.py --size tiny
