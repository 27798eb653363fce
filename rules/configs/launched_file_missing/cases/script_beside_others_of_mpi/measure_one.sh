mpirun -np $1 python measure.py
