CUDA_VISIBLE_DEVICES=0,1 accelerate launch --config_file eight.yaml train.py
