from transformers import AutoModelForCausalLM, Trainer


def judge(name, prompt):
    return AutoModelForCausalLM.from_pretrained(name, device_map="auto").generate(prompt)


def main(name, data):
    Trainer(model=AutoModelForCausalLM.from_pretrained(name), train_dataset=data).train()


main("gpt2", [])
