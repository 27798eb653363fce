deepspeed --include localhost:0,1,2,3 train.py --deepspeed ds_zero3_config.json --output_dir retriever --bf16
