CUDA_VISIBLE_DEVICES=0,1 python main.py &
wait
CUDA_VISIBLE_DEVICES=2,3 python main.py
