torchrun --nproc_per_node=8 pretrain.py --arch vit4k_xs --size small
torchrun --nproc_per_node=8 pretrain.py --arch vit_b_16 --size huge
torchrun --nproc_per_node=8 pretrain.py --arch xcit_small_12_p16 --size large
torchrun --nproc_per_node=8 finetune.py --arch vit_xs
