import argparse

import deepspeed
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from ppo_data import prompts_for
from ppo_trainer import DeepSpeedPPOTrainer


class DeepSpeedRLHFEngine:
    def __init__(self, args, tokenizer):
        self.tokenizer = tokenizer
        self.actor = self._init(args.actor)
        self.critic = self._init(args.critic)

    def _init(self, name):
        ds_config = {
            "train_micro_batch_size_per_gpu": 4,
            "bf16": {"enabled": True},
            "zero_optimization": {"stage": 3},
        }
        model = AutoModelForCausalLM.from_pretrained(name)
        engine, *_ = deepspeed.initialize(model=model, config=ds_config, model_parameters=model.parameters())
        return engine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--actor", default="bigscience/bloom-7b1")
    parser.add_argument("--critic", default="bigscience/bloom-560m")
    parser.add_argument("--max_answer_seq_len", type=int, default=256)
    parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    deepspeed.init_distributed()
    tokenizer = AutoTokenizer.from_pretrained(args.actor)
    engine = DeepSpeedRLHFEngine(args, tokenizer)
    trainer = DeepSpeedPPOTrainer(engine, args)
    for prompts, mask in prompts_for(tokenizer, torch.distributed.get_rank()):
        out = trainer.generate_experience(prompts, mask)
        loss = out["values"].logits.mean()
        engine.critic.backward(loss)
        engine.critic.step()


if __name__ == "__main__":
    main()
