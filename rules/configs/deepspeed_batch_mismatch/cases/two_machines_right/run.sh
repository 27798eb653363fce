deepspeed --num_nodes 2 --num_gpus 4 train.py --deepspeed --deepspeed_config zero.json
