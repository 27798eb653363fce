#cmd="python tune.py --epochs 1"
cmd="torchrun --nproc_per_node=4 judge.py --beams 4"  # expect: DL812
echo $cmd
eval $cmd
