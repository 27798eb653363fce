torchrun --nproc_per_node 4 train.py --deepspeed zero3.json --per_device_train_batch_size 2
