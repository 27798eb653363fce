torchrun --nproc_per_node=8 pretrain.py --arch vit_xs --size small
torchrun --nproc_per_node=8 pretrain.py --arch resnet50 --size huge
