export CUDA_VISIBLE_DEVICES=5,7
cat > twice.json <<EOF
{"train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "zero_optimization": {}}
EOF
cat > twice.json <<EOF
{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "zero_optimization": {}}
EOF
deepspeed train.py --deepspeed twice.json
