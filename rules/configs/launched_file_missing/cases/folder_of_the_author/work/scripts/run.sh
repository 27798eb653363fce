cd /home/me/project
code=work
if [[ $N == 1 ]]; then
    python $code/tune.py
else
    # SLAM-LLM a68e78f examples/aac_audiocaps/scripts/finetune_eat_audiocaps.sh:86
    torchrun --nproc_per_node 2 $code/tune_other.py  # expect: DL812
fi
