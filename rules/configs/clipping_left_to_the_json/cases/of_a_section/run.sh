torchrun --nproc_per_node 8 train.py --training.deepspeed zero3.json --training.per_device_train_batch_size 4 --training.max_grad_norm 2
