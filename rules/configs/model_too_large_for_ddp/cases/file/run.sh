accelerate launch --config_file ddp.yaml train.py \
    --model_name_or_path Qwen/Qwen2.5-7B `# seven` \
    --learning_rate 1e-5
accelerate launch --config_file ddp.yaml train.py --lr 1e-5 --model mistralai/Mixtral-8x7B-v0.1
accelerate launch --config_file ddp.yaml train.py --lr 1e-5 --model google/gemma-2-27b-it  # expect: DL807
