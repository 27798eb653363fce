#!/bin/bash
for run in 1 2 3; do
  if [ -e run$run ]; then
    continue
  fi
  torchrun --nproc_per_node 2 train.py --run $run > $run.log &
  break
done
wait
for run in 1 2 3; do
  torchrun --nproc_per_node 2 --master_port 29503 train.py --run $run > $run.log &
  if [ -e first ]; then
    wait
    break
  fi
  wait
done
