CONFIG=$1
GPUS=$2
PORT=${PORT:-29500}

python $(dirname "$0")/tune.py $CONFIG --gpus $GPUS --port $PORT ${@:3}
