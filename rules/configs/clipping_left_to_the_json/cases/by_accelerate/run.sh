accelerate launch train.py --deepspeed=zero2.json
