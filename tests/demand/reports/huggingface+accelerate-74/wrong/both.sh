#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1 accelerate launch --multi_gpu --num_processes 2 train.py --task mrpc &
CUDA_VISIBLE_DEVICES=2,3 accelerate launch --multi_gpu --num_processes 2 train.py --task sst2 &
wait
