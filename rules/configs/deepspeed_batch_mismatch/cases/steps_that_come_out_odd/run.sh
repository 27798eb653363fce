deepspeed --num_gpus 3 train.py --deepspeed --deepspeed_config half.json
