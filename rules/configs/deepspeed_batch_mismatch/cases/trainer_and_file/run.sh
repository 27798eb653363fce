accelerate launch --config_file zero.yaml finetune.py --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8  # expect: DL803
