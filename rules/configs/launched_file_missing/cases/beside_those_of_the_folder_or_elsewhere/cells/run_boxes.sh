cd third_party/boxes
torchrun --nproc_per_node=4 tune_boxes.py
