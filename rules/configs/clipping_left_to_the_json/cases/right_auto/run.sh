deepspeed train.py --deepspeed zero3.json --per_device_train_batch_size 4 --max_grad_norm 0.5
