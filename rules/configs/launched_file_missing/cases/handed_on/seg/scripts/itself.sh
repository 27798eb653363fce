torchrun --nproc_per_node 8 tools/train.py configs/tiny.py  # expect: DL812
torchrun --nproc_per_node 4 tools/train.py configs/wide.512  # expect: DL812
