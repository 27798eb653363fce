torchrun --nproc_per_node 8 train.py --model google/gemma-2-27b-it --lr 1e-4 --lora_rank 8
torchrun --nproc_per_node 8 train.py --model google/gemma-2-27b-it --lr 1e-4 --deepspeed ds.json
torchrun --nproc_per_node 8 evaluate.py --model google/gemma-2-27b-it --tasks mmlu
