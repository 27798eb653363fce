deepspeed train.py --deepspeed configs/zero.json --per_device_train_batch_size 4 --lr_scheduler_type cosine
deepspeed train.py --deepspeed configs/zero.json --per_device_train_batch_size 4 --lr_scheduler_type linear
