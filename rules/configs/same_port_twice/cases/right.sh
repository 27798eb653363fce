#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py --task a &
CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node 2 --master_port 29501 train.py --task b &
wait
torchrun --nproc_per_node 2 train.py --task c &
wait
torchrun --nproc_per_node 2 train.py --task d
torchrun --nproc_per_node 2 train.py --task e
torchrun --standalone --nproc_per_node 2 train.py --task f &
torchrun --standalone --nproc_per_node 2 train.py --task g &
wait
torchrun --nnodes 2 --node_rank 0 --master_port 29502 train.py &
torchrun --nnodes 2 --node_rank 1 --master_port 29502 train.py &
wait
for host in one two; do
  ssh $host torchrun --nproc_per_node 2 train.py &
done
for port in 29510 29511; do
  torchrun --nproc_per_node 2 --master_port $port train.py &
done
