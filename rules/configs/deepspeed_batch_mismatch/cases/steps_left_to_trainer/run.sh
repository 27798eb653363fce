torchrun --nproc_per_node 1 train.py --deepspeed half.json --output_dir out
