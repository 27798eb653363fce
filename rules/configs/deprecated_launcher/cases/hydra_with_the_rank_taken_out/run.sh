deepspeed --num_gpus 8 train.py --config-name=large model.layers=12
