for N in 2 4 8; do
    ./measure_all.sh $N pipeline  # expect: DL812
    ./measure_one.sh $N
done
