#!/bin/bash
while sleep 10; do
  if [ -f ready ]; then
    torchrun --nproc_per_node 2 measure.py > measured.log &
    echo started
    break
  fi
done
wait
for task in a b; do
  while sleep 10; do
    torchrun --nproc_per_node 2 train.py --task $task &  # expect: DL809
    break
  done
done
wait
for task in a b; do
  if [ -f $task.done ]; then
    break
  fi
  torchrun --nproc_per_node 2 train.py --task $task &  # expect: DL809
done
wait
