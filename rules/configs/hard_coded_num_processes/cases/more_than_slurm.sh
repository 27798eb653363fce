#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:a100:4
srun torchrun --nnodes=2 \
    --nproc_per_node 8 train.py  # expect: DL801
