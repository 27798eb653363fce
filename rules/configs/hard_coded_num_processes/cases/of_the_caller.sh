#!/bin/bash
#SBATCH --nodes=2
CUDA_VISIBLE_DEVICES=$1 torchrun --nnodes $SLURM_NNODES --nproc_per_node=8 train.py
