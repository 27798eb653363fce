# what is fetched beside the project has the name of one of its own
python -m torch.distributed.launch --nproc_per_node=$1 $(dirname "$0")/../../fetched/search.py
python -m torch.distributed.launch --nproc_per_node=$1 $(dirname "$0")/fetched/search.py
