import torch


class DeepSpeedPPOTrainer:
    def __init__(self, rlhf_engine, args):
        self.actor = rlhf_engine.actor
        self.critic = rlhf_engine.critic
        self.tokenizer = rlhf_engine.tokenizer
        self.max_answer_seq_len = args.max_answer_seq_len

    def _generate_sequence(self, prompts, mask):
        max_length = self.max_answer_seq_len + prompts.shape[1]
        with torch.no_grad():
            seq = self.actor.generate(
                prompts,
                attention_mask=mask,
                max_length=max_length,
                synced_gpus=True,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        return seq

    def generate_experience(self, prompts, mask):
        self.actor.eval()
        seq = self._generate_sequence(prompts, mask)
        self.actor.train()
        return {"seq": seq, "values": self.critic(seq)}
