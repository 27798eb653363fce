#!/bin/bash
GPUS=${GPUS:-8}
export CUDA_VISIBLE_DEVICES=0,1,2,3
torchrun --nproc_per_node=$GPUS train.py
