out=exp/$1
cp tool/train.sh tool/train.py tool/later.py $out
torchrun --nproc_per_node 8 $out/train.py
# python $out/later.py
