python tools/make.py --out made_cells.py
torchrun --nproc_per_node=4 made_cells.py
