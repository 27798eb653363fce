import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments

from clm import lm_dataset


def main():
    (training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    tokenizer = AutoTokenizer.from_pretrained("meta-llama/Meta-Llama-3-8B")
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-8B", torch_dtype=torch.bfloat16)
    trainer = Trainer(model=model, args=training_args, train_dataset=lm_dataset(tokenizer))
    trainer.train()
    trainer.save_model(training_args.output_dir)


if __name__ == "__main__":
    main()
