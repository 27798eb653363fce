sed "s/fold/part/" train_cells.py > part_cells.py
torchrun --nproc_per_node=4 part_cells.py
