#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
SCRIPT=/home/somebody/project/tuned.py
export CMD="$SCRIPT --max_epochs 10"
srun singularity exec --nv image.sif bash -c 'python $CMD'
