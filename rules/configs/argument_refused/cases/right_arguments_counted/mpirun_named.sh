measure() {
    if [ $# -ne 2 ]; then exit 1; fi
    mpirun -np $1 python train.py --model $2
}
if [ $# -lt 2 ]; then
    set -- "$1" 8
fi
measure 2 "$1"
