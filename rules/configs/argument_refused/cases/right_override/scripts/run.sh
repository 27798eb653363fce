python3 -m tuner.start.main data.path=$DATA data.batch=4 +data.seed=1 data.seed=2 \
    model.layers.first=16 hydra.run.dir=out "$@"
python3 -m tuner.start.main --config-name other data.with=4
python3 -m elsewhere.main data.with=4
python3 -m alone.main letters=3
