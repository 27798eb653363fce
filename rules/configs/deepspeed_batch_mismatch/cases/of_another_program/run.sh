deepspeed train.py --deepspeed_config zero.json --gradient_accumulation_steps 2
