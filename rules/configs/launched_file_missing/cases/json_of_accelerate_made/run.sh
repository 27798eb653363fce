python write_settings.py --out ds_config.json
accelerate launch --config_file configs/two.yaml train.py
