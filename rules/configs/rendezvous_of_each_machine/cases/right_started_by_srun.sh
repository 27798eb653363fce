export NODE_RANK=$SLURM_NODEID
torchrun --nnodes 3 --node_rank $NODE_RANK --master_addr $HEAD --nproc_per_node 8 train.py
