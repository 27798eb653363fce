#!/bin/bash
NUM_GPUS=${1:-4}
nohup torchrun --standalone --nproc_per_node=$NUM_GPUS src/train.py --data text > log.txt &  # expect: DL621
