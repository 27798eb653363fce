deepspeed --no_local_rank --num_gpus 8 train.py model.layers=12
deepspeed --launcher openmpi --hostfile hosts train.py model.layers=12
torchrun --nproc_per_node 8 train.py model.layers=12
