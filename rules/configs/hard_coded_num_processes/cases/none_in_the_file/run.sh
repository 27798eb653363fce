accelerate launch --num_processes "$GPUS" --config_file open.yaml train.py
