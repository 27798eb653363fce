stage=2
config=conf/zero$stage.json
sed "s/STAGE/$stage/" conf/template.json > ${config}
ARGS="--deepspeed_config ${config} --seed $SEED"
if [ "$PLAIN" = true ]; then
    ARGS="${ARGS} --plain"
fi
deepspeed --num_gpus 4 train.py ${ARGS}
