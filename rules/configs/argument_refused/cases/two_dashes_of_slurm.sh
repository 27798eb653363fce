#!/bin/bash
#SBATCH --mem=64G
#SBATCH -n8
#SBATCH -output=log
srun -N 2 -n16 -pgpu -t2:00:00 --mem=0 python train.py -mem=0
srun -N 2 $MORE train -nodes=2
