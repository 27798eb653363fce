torchrun --nproc_per_node=4 train_cells.py --fold 1
torchrun --nproc_per_node=4 infer_cells.py --fold 1
torchrun --nproc_per_node=4 join_cells.py --fold 1
torchrun --nproc_per_node=4 count_cells.py --fold 1
torchrun --nproc_per_node=4 split_cells.py --fold 1
torchrun --nproc_per_node=4 show_cells.py --fold 1
torchrun --nproc_per_node=4 score_cells.py --fold 1
torchrun --nproc_per_node=4 check_cells.py --fold 1
