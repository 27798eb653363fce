torchrun --nproc_per_node 8 train.py --deepspeed zero.json --per_device_train_batch_size 8  # expect: DL803
torchrun --nproc_per_node 8 train.py --deepspeed zero.json --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 8 \
    --learning_rate 1e-5  # expect: DL803
