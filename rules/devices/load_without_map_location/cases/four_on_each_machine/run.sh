#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1   # torchrun starts the ranks
#SBATCH --gpus-per-node=4

srun --ntasks=$SLURM_JOB_NUM_NODES torchrun \
    --nnodes=$SLURM_JOB_NUM_NODES \
    --nproc_per_node=4 \
    --rdzv_backend=c10d \
    --rdzv_endpoint=$MASTER_ADDR:29500 \
    read.py
