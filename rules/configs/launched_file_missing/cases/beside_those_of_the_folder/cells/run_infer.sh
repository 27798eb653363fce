torchrun --nproc_per_node=4 infer_cells.py --fold 1
