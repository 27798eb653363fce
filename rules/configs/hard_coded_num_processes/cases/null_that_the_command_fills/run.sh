CONFIG=a.yaml
LAUNCHER="accelerate launch \
    --config_file $CONFIG \
    --num_processes $GPUS \
"
$LAUNCHER train.py
