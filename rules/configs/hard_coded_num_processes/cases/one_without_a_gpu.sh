#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=3 serve_and_train.py --num_gpus 2
