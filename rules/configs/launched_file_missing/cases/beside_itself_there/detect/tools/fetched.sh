curl -O https://example.com/check_more.py
torchrun --nproc_per_node=8 $(dirname "$0")/check_more.py
bash dist_more.sh
