#!/bin/bash
#SBATCH --ntasks=1
#SBATCH --nodes=1
python by_hand.py
torchrun --nproc_per_node 1 of_one.py
torchrun of_none.py
accelerate launch of_any.py
accelerate launch --config_file one.yaml told_one.py
deepspeed --include localhost:0 on_the_first.py
CUDA_VISIBLE_DEVICES=0 deepspeed on_the_seen.py
srun python of_a_job.py
echo torchrun --nproc_per_node 8 shown.py
