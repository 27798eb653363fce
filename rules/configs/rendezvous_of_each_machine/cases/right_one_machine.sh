export MASTER_PORT=$((20000 + RANDOM % 10000))
torchrun --nproc_per_node 8 --master_port $MASTER_PORT train.py
