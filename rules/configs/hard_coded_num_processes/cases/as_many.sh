#!/bin/bash
#SBATCH --gres=gpu:8
#SBATCH --nodes=4
export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
torchrun --nnodes=4 --nproc_per_node=8 train.py
