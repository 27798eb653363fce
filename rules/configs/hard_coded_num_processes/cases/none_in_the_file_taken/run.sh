accelerate launch --config_file open.yaml train.py
