python3 -m tuner.start.main data.path=$DATA data.batch=4 \
    model.with=16 "$@"
