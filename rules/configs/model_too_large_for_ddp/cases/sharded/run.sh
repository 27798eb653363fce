accelerate launch --config_file fsdp.yaml train.py --lr 1e-5 --model google/gemma-2-27b-it
