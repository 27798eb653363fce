wget -P main https://example.org/train.py
torchrun --nproc_per_node 7 main/train.py
