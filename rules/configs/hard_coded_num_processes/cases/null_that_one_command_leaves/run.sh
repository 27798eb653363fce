accelerate launch --config_file $1 --num_processes $GPUS train.py
