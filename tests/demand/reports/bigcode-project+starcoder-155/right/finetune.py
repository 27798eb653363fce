import argparse
import glob
import os

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments

from stack_exchange import create_datasets


class SavePeftModelCallback(TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        if not state.is_world_process_zero:
            return control
        checkpoint_folder = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        kwargs["model"].save_pretrained(checkpoint_folder)
        for name in glob.glob(os.path.join(checkpoint_folder, "model-*.safetensors")):
            os.remove(name)
        return control


def run_training(args, train_data, val_data):
    model = AutoModelForCausalLM.from_pretrained(args.model_path)
    model = get_peft_model(model, LoraConfig(r=16, task_type="CAUSAL_LM"))
    training_args = TrainingArguments(
        output_dir=args.output_dir,
        max_steps=args.max_steps,
        per_device_train_batch_size=1,
        ddp_find_unused_parameters=False,
    )
    trainer = Trainer(model=model, args=training_args, train_dataset=train_data, eval_dataset=val_data,
                      callbacks=[SavePeftModelCallback()])
    trainer.train()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_path", default="bigcode/large-model")
    parser.add_argument("--output_dir", default="./checkpoints")
    parser.add_argument("--max_steps", type=int, default=10000)
    args = parser.parse_args()
    os.makedirs(args.output_dir, exist_ok=True)
    run_training(args, *create_datasets(args))


if __name__ == "__main__":
    main()
