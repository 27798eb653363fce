cat > bench_cells.py <<EOF
print("measures")
EOF
torchrun --nproc_per_node=4 bench_cells.py
