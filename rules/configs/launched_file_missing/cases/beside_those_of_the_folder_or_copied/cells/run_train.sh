torchrun --nproc_per_node=4 train_cells.py --fold 1
