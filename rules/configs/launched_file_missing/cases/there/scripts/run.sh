torchrun --nproc_per_node 7 main/edm/train.py --lr 1e-4
torchrun --nproc_per_node 7 ../main/edm/train.py
torchrun --nproc_per_node 7 "$CODE"/train.py
torchrun --nproc_per_node 7 /opt/code/main/train.py
python -m torch.distributed.run --nproc_per_node 7 <script>.py
