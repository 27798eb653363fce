python train.py --bf16
