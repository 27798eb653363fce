torchrun --nproc_per_node 4 tune.py --per_device_train_batch_size 4 --fsdp "full_shard" --fsdp_config fsdp.json
accelerate launch --use_fsdp tune.py --per_device_train_batch_size 4 --fsdp_config fsdp.json
torchrun --nproc_per_node 4 own.py --fsdp_config fsdp.json
OPTIONS=$(cat options.txt)
torchrun --nproc_per_node 4 tune.py $OPTIONS --per_device_train_batch_size 4 --fsdp_config fsdp.json
