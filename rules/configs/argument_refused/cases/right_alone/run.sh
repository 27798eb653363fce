CUDA_VISIBLE_DEVICES=0 python train.py --batch_size 16
python train.py --batch_size 16
CUDA_VISIBLE_DEVICES=0,1 python train.py --batch-size 16
