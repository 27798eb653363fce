export MASTER_PORT=${MASTER_PORT:-$((20000 + RANDOM % 10000))}
torchrun --nnodes 2 --node_rank $SLURM_NODEID --master_addr $HEAD --master_port $MASTER_PORT train.py
