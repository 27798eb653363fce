python -m torch.distributed.launch --use_env --nproc_per_node=8 train.py  # expect: DL805
