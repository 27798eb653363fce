DATA=/path/to/data
OPTS=""
OPTS+=" --img_path ${DATA}"
OPTS+=" --steps 500"
OPTS="$OPTS --sft"
OPTS+=" $@"
CMD="deepspeed ./tune.py ${OPTS}"
echo "${CMD}"
$CMD
