torchrun --nproc_per_node 4 tune.py --per_device_train_batch_size 4 --fsdp_config fsdp.json  # expect: DL802
