export MASTER_PORT=66660  # expect: DL806
torchrun --nproc_per_node=8 train.py
