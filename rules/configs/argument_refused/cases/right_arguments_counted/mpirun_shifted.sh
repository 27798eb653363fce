MODE=$1
shift
if [ $# -gt 0 ]; then exit 1; fi
mpirun -np 2 python train.py --mode $MODE
