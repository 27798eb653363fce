source settings.sh
MODEL_PATH=model
torchrun --nproc_per_node 8 tune.py --model $MODEL_PATHS
