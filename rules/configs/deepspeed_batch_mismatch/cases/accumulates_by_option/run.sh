accelerate launch --config_file zero.yaml --gradient_accumulation_steps 2 train.py --gradient_accumulation_steps=2
