# mistral bf9eff0 scripts/run/multi-node.sh:2
deepspeed --num_gpus 8 train.py --config conf/tiny.yaml --deepspeed conf/z1.json  # expect: DL812
deepspeed --num_gpus 4 train.py --config conf/tiny.yaml --deepspeed conf/z1.json
deepspeed --num_gpus 4 train.py --config=conf/small.yaml --deepspeed conf/z2.json  # expect: DL812
torchrun --nproc_per_node=8 train.py --cfg-path 'conf/large.yaml'  # expect: DL812
