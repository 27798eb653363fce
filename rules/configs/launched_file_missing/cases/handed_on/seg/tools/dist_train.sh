CONFIG=$1
GPUS=$2
python3 -m torch.distributed.launch --nproc_per_node=$GPUS $(dirname "$0")/train.py $CONFIG ${@:3}
