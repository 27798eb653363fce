accelerate launch --config_file zero.yaml train.py --gradient_accumulation_steps=2
