accelerate launch --config_file zero2.yaml train.py
