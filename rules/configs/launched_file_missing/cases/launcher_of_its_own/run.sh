# RegionCLIP 4b8513b pretrain.sh:9
python3 -m launch --nnodes=2 --nproc_per_node=16 train.py  # expect: DL812
python3 -m launch train.py
python3 -m horses.launch --nproc_per_node=16 train.py
