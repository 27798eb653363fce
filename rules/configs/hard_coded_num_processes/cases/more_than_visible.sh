#!/bin/bash
export CUDA_VISIBLE_DEVICES=0,1,2,3
torchrun --nproc_per_node=8 train.py  # expect: DL801
