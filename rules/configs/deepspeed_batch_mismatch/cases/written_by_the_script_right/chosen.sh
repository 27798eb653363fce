export CUDA_VISIBLE_DEVICES=5,7
cat > chosen.json <<EOF
{"train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "zero_optimization": {}}
EOF
deepspeed --include localhost:0 train.py --deepspeed chosen.json
