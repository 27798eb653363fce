cd "$(dirname "$0")/.."
torchrun --nproc_per_node 8 tools/check.py
bash tools/dist_check.sh
source tools/settings_of_the_cluster.sh
