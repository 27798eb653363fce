export CUDA_VISIBLE_DEVICES=5,7
cat > zero.json << EOF
{
  "train_batch_size": 16,  # expect: DL803
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 4,
  "zero_optimization": {"stage": 2}
}
EOF
deepspeed train.py --deepspeed zero.json
