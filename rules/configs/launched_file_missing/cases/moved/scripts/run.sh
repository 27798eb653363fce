# DMD2 8d8fa55 experiments/imagenet/imagenet_lr2e-6_scratch.sh:5
torchrun --nproc_per_node 7 main/train.py --lr 1e-4  # expect: DL812
