#!/bin/bash
#SBATCH --nodes=1
srun --label bash jobs/start.sh $@
