export PET_NNODES=$SLURM_NNODES
torchrun --nproc_per_node 8 train.py $1
