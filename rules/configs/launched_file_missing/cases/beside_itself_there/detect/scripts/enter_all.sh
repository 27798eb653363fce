cd "$ROOT"
bash dist_all_of_it.sh
