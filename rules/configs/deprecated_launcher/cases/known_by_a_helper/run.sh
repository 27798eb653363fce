python -m torch.distributed.launch --nproc_per_node=8 main.py --epochs 3  # expect: DL805
