HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
torchrun --nproc_per_node=8 $(dirname "$0")/check.py
torchrun --nproc_per_node=8 "$HERE/check.py"
torchrun --nproc_per_node=8 "$HERE/../main.py"
torchrun --nproc_per_node=8 "$HERE/../../outside/main.py"
torchrun --nproc_per_node=8 `dirname $0`/check.py
