out=exp/$1
mkdir -p $out
cp tool/train.sh tool/train_wide.py config/wide.yaml $out  # expect: DL812
torchrun --nproc_per_node 8 $out/train_wide.py
