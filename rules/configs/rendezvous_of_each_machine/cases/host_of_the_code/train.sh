export RDZV_HOST=$(head -n 1 hosts)
torchrun --nnodes=4 --nproc_per_node=8 --rdzv_id=7 --rdzv_backend=c10d --rdzv_endpoint=$RDZV_HOST:29400 train.py
