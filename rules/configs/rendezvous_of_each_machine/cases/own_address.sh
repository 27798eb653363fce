torchrun --nnodes=2 --node_rank=$NODE_RANK --master_addr=127.0.0.1 --master_port=29500 --nproc_per_node=8 train.py  # expect: DL810
