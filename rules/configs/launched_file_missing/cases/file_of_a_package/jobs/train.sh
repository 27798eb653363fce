torchrun --nproc_per_node=8 -m motion.train
torchrun --nproc_per_node=8 train.py  # expect: DL812
