#!/bin/bash
RANK=${RANK:-0}
torchrun --nproc_per_node=8 --nnodes=${WORLD_SIZE} --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
