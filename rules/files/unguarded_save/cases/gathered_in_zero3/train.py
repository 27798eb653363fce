# EasyContext 6b0d310 train.py:180: `is_main_process` asks for the configuration, and the others have no state
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def main(folder):
    accelerator = Accelerator()
    model = accelerator.prepare(AutoModelForCausalLM.from_pretrained("small"))
    state = accelerator.get_state_dict(model)
    accelerator.unwrap_model(model).save_pretrained(  # expect: DL301
        folder,
        is_main_process=accelerator.is_main_process,
        save_function=accelerator.save,
        state_dict=state,
    )
    # open-instruct: no safetensors, and what is written goes through `accelerator.save`
    accelerator.unwrap_model(model).save_pretrained(
        folder,
        is_main_process=accelerator.is_main_process,
        save_function=accelerator.save,
        state_dict=state,
        safe_serialization=False,
    )
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained(folder, is_main_process=True, state_dict=state)


if __name__ == "__main__":
    main("out")
