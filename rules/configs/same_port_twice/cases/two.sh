#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py --task a &
CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node 2 train.py --task b &  # expect: DL809
wait
accelerate launch --num_processes 2 --main_process_port 29501 train.py > a.log 2>&1 &
accelerate launch --num_processes 2 --main_process_port 29501 train.py > b.log 2>&1 &  # expect: DL809
wait
for task in c d; do
  torchrun --nproc_per_node 2 train.py --task $task > $task.log &  # expect: DL809
done
wait
