# deepspeed --num_gpus=4 ./tune.py
torchrun --nproc_per_node=4 ./tune_24.py  # expect: DL812
