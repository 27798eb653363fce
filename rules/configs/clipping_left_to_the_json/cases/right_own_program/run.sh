deepspeed train.py --deepspeed zero3.json --max_grad_norm 0.5
