#!/bin/bash
set -euo pipefail
export MASTER_ADDR=$(hostname)
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
torchrun --nnodes=2 --node_rank=$SLURM_NODEID --nproc_per_node=8 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py
