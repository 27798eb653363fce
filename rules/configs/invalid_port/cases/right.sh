export MASTER_PORT=29500
torchrun --nproc_per_node=8 --master-port $MASTER_PORT train.py
torchrun --nproc_per_node=8 --master_port $((20000 + RANDOM % 1000)) train.py
MASTER_ADDR=<HOST> MASTER_PORT=<AN_OPEN_PORT> python train.py
export MASTER_PORT=<AN_OPEN_PORT>
torchrun --nproc_per_node=8 --master-port YOUR_PORT train.py
