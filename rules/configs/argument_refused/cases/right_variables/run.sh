MODEL_PATH="/path/to/your/model/"
TOKENIZER_PATH=$MODEL_PATH/tokenizer
DATA_PATH=data.json
torchrun --nproc_per_node 8 tune.py --model $MODEL --tokenizer "$TOKENIZER" --out $OUT
torchrun --nproc_per_node 8 tune.py --data ${DATA:-$DATA_PATH}
