inside() {
    local name="$1"
    shift
    conda activate "$name"
    "$@"
}

# groundingLMM e74865f GranD/run_pipeline.sh: each step runs with another torch
inside depth pushd steps/1
python -m torch.distributed.launch --nproc_per_node=4 --use_env infer.py  # expect: DL805
popd
inside tags pushd steps/2
python -m torch.distributed.launch --nproc_per_node=4 --use_env infer.py  # expect: DL805
popd
inside depth pushd steps/3 \
    python -m torch.distributed.launch --nproc_per_node=4 --use_env infer.py
popd
conda activate old
python -m torch.distributed.launch --nproc_per_node=4 --use_env infer.py
conda run -n tags python -m torch.distributed.launch --nproc_per_node=4 --use_env infer.py  # expect: DL805
conda deactivate
