deepspeed train.py --deepspeed warm.json --per_device_train_batch_size 4 --lr_scheduler_type constant_with_warmup
deepspeed train.py --deepspeed line.json --per_device_train_batch_size 4 --lr_scheduler_type linear
deepspeed train.py --deepspeed wave.json --per_device_train_batch_size 4 --lr_scheduler_type cosine
deepspeed train.py --deepspeed warm.json --per_device_train_batch_size 4 --lr_scheduler_type $KIND
deepspeed train.py --deepspeed warm.json --per_device_train_batch_size 4 
