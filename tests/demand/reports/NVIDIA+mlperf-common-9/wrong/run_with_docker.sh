#!/bin/bash
set -euo pipefail
export MASTER_ADDR=$(hostname)
export MASTER_PORT=$((32768 + RANDOM % 28231))
torchrun --nnodes=2 --node_rank=$SLURM_NODEID --nproc_per_node=8 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py
