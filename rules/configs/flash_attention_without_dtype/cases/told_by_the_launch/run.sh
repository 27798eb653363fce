torchrun --nproc_per_node 8 train.py --bf16 True --output_dir out
