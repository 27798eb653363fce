import os

import torch
from transformers import Trainer


class TevatronTrainer(Trainer):
    def _save(self, output_dir=None, state_dict=None):
        output_dir = output_dir if output_dir is not None else self.args.output_dir
        os.makedirs(output_dir, exist_ok=True)
        prefix = "encoder."
        state_dict = self.model.state_dict()
        state_dict = {k[len(prefix):]: v for k, v in state_dict.items() if k.startswith(prefix)}
        self.model.encoder.save_pretrained(output_dir, state_dict=state_dict, safe_serialization=True)
        torch.save(self.args, os.path.join(output_dir, "training_args.bin"))

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        query, passage = inputs
        return model(query=query, passage=passage).loss
