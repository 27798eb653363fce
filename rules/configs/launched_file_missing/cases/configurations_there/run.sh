deepspeed --num_gpus 8 train.py --config conf/small.yaml --deepspeed conf/z1.json --output conf/out.yaml
deepspeed --num_gpus 8 train.py --config conf/$SIZE.yaml --deepspeed ${DS:-conf/z9.json}
torchrun --nproc_per_node=8 train.py --cfg-path 'conf/small.yaml'
