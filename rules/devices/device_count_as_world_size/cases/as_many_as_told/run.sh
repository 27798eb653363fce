#!/bin/bash
NUMBER=$1
CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((NUMBER - 1))) python -m torch.distributed.launch --nproc_per_node=${NUMBER} train.py
