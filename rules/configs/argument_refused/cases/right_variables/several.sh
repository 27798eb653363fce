export CUDA_VISIBLE_DEVICES=0,1
# TOKENIZER=bert MODEL=a bash run.sh
for SIZE in 7b 13b; do
    TOKENIZER=$SIZE bash run.sh
done
