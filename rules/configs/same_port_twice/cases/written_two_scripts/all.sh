CUDA_VISIBLE_DEVICES=0,1 python main.py &
CUDA_VISIBLE_DEVICES=2,3 python other.py &
