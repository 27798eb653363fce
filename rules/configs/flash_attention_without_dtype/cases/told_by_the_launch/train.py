from transformers import AutoModel, HfArgumentParser, Trainer, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
model = AutoModel.from_pretrained("small", attn_implementation="flash_attention_2")
Trainer(model, arguments).train()
