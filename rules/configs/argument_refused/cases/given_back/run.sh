torchrun --nproc_per_node 8 main.py --epochs 125 --lr-drop 100
