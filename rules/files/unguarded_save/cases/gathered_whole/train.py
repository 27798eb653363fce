from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def main(folder):
    accelerator = Accelerator()
    model = accelerator.prepare(AutoModelForCausalLM.from_pretrained("small"))
    state = accelerator.get_state_dict(model)
    accelerator.unwrap_model(model).save_pretrained(
        folder,
        is_main_process=accelerator.is_main_process,
        save_function=accelerator.save,
        state_dict=state,
    )


if __name__ == "__main__":
    main("out")
