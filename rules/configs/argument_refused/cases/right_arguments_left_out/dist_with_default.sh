#!/bin/bash
GPUS=${2:-8}
torchrun --nproc_per_node=$GPUS --master_port ${3:-29500} measure.py $1
