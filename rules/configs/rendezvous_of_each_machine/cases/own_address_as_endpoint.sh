torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:29400 --nproc_per_node=8 train.py  # expect: DL810
