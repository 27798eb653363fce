ALL=64
EACH=4
GPUS=8
STEPS=$[$ALL/($EACH*$GPUS)]
accelerate launch --config_file zero.yaml train.py gradient_accumulation_steps $STEPS batch_size $EACH
