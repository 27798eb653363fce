CONFIG=$1
python3 -m torch.distributed.launch --nproc_per_node=$2 $(dirname "$0")/train.py $CONFIG ${@:3}
