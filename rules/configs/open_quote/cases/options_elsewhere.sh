ARGS="
    --lr 1e-4
    --out result
"
torchrun --nproc_per_node=8 train.py $ARGS
OTHERS=(
    # in a list, comments are nothing
    --lr 1e-4
    # and lines are words
    --out result
)
torchrun --nproc_per_node=8 train.py "${OTHERS[@]}"
case "$1" in
    --lr) torchrun --nproc_per_node=8 train.py ;;
    --out) echo "$2" ;;
esac
