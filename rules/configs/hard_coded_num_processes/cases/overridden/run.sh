accelerate launch --config_file eight.yaml --num_processes=7 train.py  # expect: DL801
