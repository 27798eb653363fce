export CUDA_VISIBLE_DEVICES=0
cat <<EOF
torchrun --nproc_per_node=8 train.py
EOF
echo torchrun --nproc_per_node=8 train.py
