cp $HOME/tools/join_cells.py .
torchrun --nproc_per_node=4 join_cells.py --fold 1
