#!/bin/bash
MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
RANK=${RANK:-0}
WORLD_SIZE=${WORLD_SIZE:-1}
torchrun --nproc_per_node=8 --nnodes=${WORLD_SIZE} --master_addr=${MASTER_ADDR} train.py  # expect: DL810
