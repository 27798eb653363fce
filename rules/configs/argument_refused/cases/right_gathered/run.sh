OPTS=""
if [ -n "$OLD" ]; then
    OPTS+=" --img_path $OLD"
fi
for name in $NAMES; do OPTS+=" --name $name"; done
OPTS+=" --steps 500"
MORE="--of-another $1"
MORE="--image_path $1"
CMD="deepspeed ./tune.py ${OPTS} $MORE"
eval "$CMD"
