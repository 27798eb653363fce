deepspeed train.py --deepspeed zero.json --lr_scheduler_type cosine
