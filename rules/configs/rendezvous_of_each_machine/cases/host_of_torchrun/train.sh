torchrun --nnodes=4 --nproc_per_node=8 --rdzv_id=7 --rdzv_backend=c10d --rdzv_endpoint=$RDZV_HOST:29400 train.py
torchrun --nnodes=4 --nproc_per_node=8 --node_rank=$MACHINE --master_addr=$FIRST --master_port=29400 numbered.py
torchrun --nnodes=1 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 numbered.py
