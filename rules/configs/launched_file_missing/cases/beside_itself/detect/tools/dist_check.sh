CONFIG=$1
PYTHONPATH="$(dirname $0)/..":$PYTHONPATH \
python -m torch.distributed.launch --nproc_per_node=$2 \
    $(dirname "$0")/check_noise.py $CONFIG --launcher pytorch  # expect: DL812
