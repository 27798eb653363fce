export PET_NODE_RANK=$SLURM_NODEID PET_MASTER_ADDR=$HEAD
torchrun --nnodes=2 --nproc_per_node 8 train.py
