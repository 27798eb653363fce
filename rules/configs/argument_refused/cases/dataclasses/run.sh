torchrun --nproc_per_node 4 tune.py --output_dir out --logging_steps1 --kind sft --bf16
torchrun --nproc_per_node 4 tune.py --output_dir out --kernel --kind sft
torchrun --nproc_per_node 4 tune.py --output_dir out --kind rlhf --rank_of_update half
