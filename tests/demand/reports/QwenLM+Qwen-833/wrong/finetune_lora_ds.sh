#!/bin/bash
torchrun --nproc_per_node 4 finetune.py \
    --model_name_or_path Qwen/Qwen-14B-Chat \
    --data_path data.json \
    --use_lora \
    --deepspeed ds_config_zero3.json
