MACHINES=2
NODE=0
PORT=$((20000 + RANDOM % 10000))
torchrun --nnodes=$MACHINES --node_rank=$NODE --master_addr=$HEAD --master_port=$PORT train.py  # expect: DL810
