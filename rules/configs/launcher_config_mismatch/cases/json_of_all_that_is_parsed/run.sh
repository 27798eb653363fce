deepspeed --num_gpus 4 tune.py --deepspeed_config zero2.json
