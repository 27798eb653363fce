from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


def load(name):
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")  # expect: DL507
    tokenizer = AutoTokenizer.from_pretrained(name)
    return model, tokenizer


def main(name, data):
    model, tokenizer = load(name)
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=data, processing_class=tokenizer).train()


main("gpt2", [])
