accelerate launch --config_file zero.yaml --num_processes "$GPUS" train.py
