accelerate launch --multi_gpu --num_processes 8 run_sft.py --output_dir out --bf16
