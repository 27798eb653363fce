import argparse
import os

from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, set_seed

from stack_exchange import create_datasets


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_path", type=str, default="bigcode/large-model")
    parser.add_argument("--seq_length", type=int, default=2048)
    parser.add_argument("--max_steps", type=int, default=10000)
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--output_dir", type=str, default="./checkpoints")
    return parser.parse_args()


def main(args):
    set_seed(0)
    train_data, val_data = create_datasets(args)
    model = AutoModelForCausalLM.from_pretrained(args.model_path, device_map={"": Accelerator().local_process_index})
    model = get_peft_model(model, LoraConfig(r=16, task_type="CAUSAL_LM"))
    training_args = TrainingArguments(output_dir=args.output_dir, max_steps=args.max_steps, per_device_train_batch_size=1)
    trainer = Trainer(model=model, args=training_args, train_dataset=train_data, eval_dataset=val_data)
    trainer.train()
    trainer.save_model(os.path.join(args.output_dir, "final_checkpoint/"))


if __name__ == "__main__":
    main(get_args())
