#!/bin/bash
#SBATCH -mem=64G  # expect: DL817
#SBATCH --nodes=2
srun --nodes=2 -ntasks-per-node=8 python train.py  # expect: DL817
