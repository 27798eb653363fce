# two machines, played by the two halves of this one
CUDA_VISIBLE_DEVICES=0 torchrun --nnodes=2 --node_rank=0 --master_addr=127.0.0.1 --master_port=29500 train.py &
CUDA_VISIBLE_DEVICES=1 torchrun --nnodes=2 --node_rank=1 --master_addr=127.0.0.1 --master_port=29500 train.py
