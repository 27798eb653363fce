for GPUS in 2 4 8; do
    ./mpirun_slices.sh 1 2 test --quiet  # expect: DL817
done
mpirun -np 2 hostname
