torchrun --nproc_per_node=8 --master_port=123456 train.py  # expect: DL806
