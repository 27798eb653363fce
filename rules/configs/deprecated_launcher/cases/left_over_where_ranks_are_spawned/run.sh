python -m torch.distributed.launch --nproc_per_node=4 other.py  # expect: DL805
