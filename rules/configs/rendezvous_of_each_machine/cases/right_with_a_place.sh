torchrun --nnodes=1 --nproc_per_node 8 train.py
torchrun --nnodes=2 --node_rank=$1 --master_addr=10.0.0.1 --nproc_per_node 8 train.py
torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:29500 --nproc_per_node 8 train.py
torchrun --nnodes=2 --rdzv_backend=etcd --rdzv_conf a=b --nproc_per_node 8 train.py
torchrun --nnodes=2 $WHERE --nproc_per_node 8 train.py
torchrun --nnodes=${MACHINES:-2} --nproc_per_node 8 train.py
torchrun --nnodes=1:4 --nproc_per_node 8 train.py
accelerate launch --num_machines 2 train.py
