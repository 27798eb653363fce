torchrun --nproc_per_node=8 -m motion.train
torchrun --nproc_per_node=8 motion/own.py
torchrun --nproc_per_node=8 motion/may.py
cd ../elsewhere
torchrun --nproc_per_node=8 train.py
