#!/bin/bash
accelerate launch --config_file fsdp.yaml run_clm.py --output_dir out --bf16 --per_device_train_batch_size 1
