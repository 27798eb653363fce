#!/bin/bash
GPUS=$2
if [ -z "$GPUS" ]; then
    GPUS=$(nvidia-smi -L | wc -l)
fi
torchrun --nproc_per_node=$GPUS measure.py $1
