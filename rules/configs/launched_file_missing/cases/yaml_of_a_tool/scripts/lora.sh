llamafactory-cli train plans/lora_sft.yaml  # expect: DL812
