MACHINES=1
NODE=0
PORT=$((20000 + RANDOM % 10000))
python -m torch.distributed.launch --nproc_per_node=1 --master_addr=127.0.0.1 --master_port=$PORT --nnodes=$MACHINES --node_rank=$NODE train.py
