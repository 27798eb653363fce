export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
torchrun --nnodes 2 --node_rank $SLURM_NODEID --master_addr $HEAD --master_port $MASTER_PORT train.py
