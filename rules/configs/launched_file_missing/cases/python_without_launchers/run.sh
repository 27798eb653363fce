torchrun --nproc_per_node=4 --no_python python train.py --epochs 3
srun --ntasks 4 python train.py
torchrun --nproc_per_node=4 train.py
srun python launchers.py torchrun --nproc_per_node=4 train.py
srun conda run -n python torchrun --nproc_per_node=4 train.py
