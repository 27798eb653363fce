MODEL_PATH="/path/to/your/model/"
DATA_PATH="/path/to/data.json"  # what it is tuned on
OUT=out
torchrun --nproc_per_node 8 tune.py --output_dir $OUT --model_name_or_path $MODEL  # expect: DL817
torchrun --nproc_per_node 8 tune.py --output_dir $OUT --data "${DATA_PATHS}"  # expect: DL817
