torchrun --nproc_per_node=$nod main.py --size tiny
torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE main.py --size tiny
