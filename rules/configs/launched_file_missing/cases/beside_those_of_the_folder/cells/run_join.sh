#!/bin/sh
torchrun --nproc_per_node=4 join_cells.py --fold 1  # expect: DL812
