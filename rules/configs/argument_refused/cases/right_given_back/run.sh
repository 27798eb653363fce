torchrun --nproc_per_node 8 main.py --epochs 125 --seed 1
torchrun --nproc_per_node 8 other.py --epochs 125 --more 1
