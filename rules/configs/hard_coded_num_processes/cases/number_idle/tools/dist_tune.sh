CONFIG=$1
GPUS=$2  # expect: DL801
PORT=${PORT:-29500}

python $(dirname "$0")/tune.py $CONFIG ${@:3}
