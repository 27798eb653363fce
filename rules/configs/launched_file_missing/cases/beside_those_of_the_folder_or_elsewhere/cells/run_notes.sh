jupyter nbconvert --to script notes_of_cells.ipynb
torchrun --nproc_per_node=4 notes_of_cells.py
