llamafactory-cli train plans/sft_lora.yaml
llamafactory-cli train "$PLANS/lora_sft.yaml"
llamafactory-cli train /data/plans/lora_sft.yaml
llamafactory-cli export plans/lora_sft.yaml
CUDA_VISIBLE_DEVICES=0 llamafactory-cli train plans/lora_sft.yaml
