torchrun --nproc_per_node 4 tune.py --output_dir out --logging_steps1
torchrun --nproc_per_node 4 known.py --output_dir out --depth
