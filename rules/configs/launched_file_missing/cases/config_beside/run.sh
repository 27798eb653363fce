accelerate launch --config_file config.yaml --num_processes 8 train.py --steps 1000  # expect: DL812
