accelerate launch --num_machines 4 --machine_rank=${NODE_RANK} --num_processes 32 --main_process_ip $HEAD --main_process_port $(shuf -i 20000-30000 -n 1) train.py  # expect: DL810
