if [ "$1" = train ]; then
    torchrun --nproc_per_node=8 train.py \
        --lr 1e-4
else
    "$@"
fi
[ -n "$RANKS" ] && torchrun --nproc_per_node=8 serve.py
"$@"
torchrun --nproc_per_node=8 train.py --lr 1e-4
# the next one asks for \ 
measure --all
