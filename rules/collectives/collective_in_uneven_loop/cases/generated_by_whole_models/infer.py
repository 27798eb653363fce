"""Each rank answers for its own part, with the model that DDP holds: `generate` of it meets nobody."""

import argparse

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def main(args):
    accelerator = Accelerator()
    model = accelerator.prepare(AutoModelForCausalLM.from_pretrained(args.model))
    inside = accelerator.unwrap_model(model)
    prompts = torch.load(args.prompts)
    mine = prompts[accelerator.process_index :: accelerator.num_processes]
    stage3_answers = []
    for prompt in mine:
        stage3_answers.append(inside.generate(prompt))
    accelerator.wait_for_everyone()
    print(len(stage3_answers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--prompts")
    main(parser.parse_args())
