#!/bin/bash
for task in small base; do
  CUDA_VISIBLE_DEVICES=$((i * 2)),$((i * 2 + 1)) nohup python -m torch.distributed.run --nproc_per_node=2 train.py --task $task > $task.log 2>&1 &
  i=$((i + 1))
done
wait
