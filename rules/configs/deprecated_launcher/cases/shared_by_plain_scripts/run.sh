python train.py --fp16
