from transformers import HfArgumentParser, Trainer, TrainingArguments

parser = HfArgumentParser(TrainingArguments)
training, left = parser.parse_args_into_dataclasses(return_remaining_strings=True)
print("not used:", left)
Trainer(args=training).train()
