accelerate launch --num_processes 8 inspect_run.py
