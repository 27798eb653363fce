#!/bin/bash
export CUDA_VISIBLE_DEVICES=3
# SLAM-LLM a68e78f examples/slam_aac/scripts/pretrain.sh:79: whoever gets here has named several.
if [[ $CUDA_VISIBLE_DEVICES != *","* ]]; then
    python train.py
else
    torchrun --nproc_per_node=2 train.py
fi
