#!/bin/bash
export CUDA_VISIBLE_DEVICES=3
if [[ $DEBUG == 1 ]]; then
    python train.py
else
    torchrun --nproc_per_node=2 train.py  # expect: DL801
fi
