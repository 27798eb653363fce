torchrun --nproc_per_node 4 finetune.py --model Qwen/Qwen2-1.5B
