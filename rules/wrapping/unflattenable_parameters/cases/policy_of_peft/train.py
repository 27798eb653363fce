from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from peft.utils.other import fsdp_auto_wrap_policy

accelerator = Accelerator()


def build(base, optimizer):
    model = get_peft_model(base, LoraConfig(r=8))
    accelerator.state.fsdp_plugin.auto_wrap_policy = fsdp_auto_wrap_policy(model)
    return accelerator.prepare(model, optimizer)
