torchrun --nproc_per_node 8 --nnodes ${NNODES:-1} --node_rank $NODE_RANK --master_addr $MASTER_ADDR train.py $1
