cd parts && python one.py
cd ..
python join_twice.py
torchrun --nproc_per_node=4 join_twice.py --fold 1  # expect: DL812
