from transformers import AutoModelForCausalLM
from trl import SFTTrainer


class Tuning:
    def __init__(self, name):
        self.model = AutoModelForCausalLM.from_pretrained(name, device_map="balanced")  # expect: DL507

    def run(self, data):
        SFTTrainer(self.model, train_dataset=data).train()


Tuning("gpt2").run([])
