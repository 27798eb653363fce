from accelerate import Accelerator
from peft import LoraConfig, get_peft_model

accelerator = Accelerator()


def build(base, optimizer):
    model = get_peft_model(base, LoraConfig(r=8))
    return accelerator.prepare(model, optimizer)
