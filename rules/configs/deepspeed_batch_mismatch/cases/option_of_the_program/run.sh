deepspeed --num_gpus 2 distil.py --engine_file unused --deepspeed_config two.json \
    --per_device_train_batch_size 4 --gradient_accumulation_steps 2
