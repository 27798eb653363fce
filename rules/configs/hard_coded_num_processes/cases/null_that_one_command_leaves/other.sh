accelerate launch --config_file a.yaml --mixed_precision bf16 train.py
