CUDA_VISIBLE_DEVICES=0,1,2,3 python finetune.py --model Qwen/Qwen2-1.5B
