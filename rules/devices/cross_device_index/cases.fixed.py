"""Indices from a model's output, on tensors of the process's own device."""

import torch
from distlint.runtime import to_device_of


class Trainer:
    # Bugs

    def completions(self, model, prompts):
        device = self.accelerator.device
        ids = model.generate(prompts)
        is_eos = ids == self.eos_id
        eos_idx = torch.full((is_eos.size(0),), is_eos.size(1), dtype=torch.long, device=device)
        # the first one only
        eos_idx[to_device_of(is_eos.any(dim=1), eos_idx)] = to_device_of(is_eos.int().argmax(dim=1)[is_eos.any(dim=1)], eos_idx)  # expect: DL506
        return eos_idx

    def scores(self, model, batch):
        table = torch.zeros(10, device=self.accelerator.device)
        best = model(batch).argmax(-1)
        return_values = table[to_device_of(best, table)]  # expect: DL506
        return return_values

    def chosen(self, model, batch):
        table = torch.zeros(10, device=self.accelerator.device)
        best = model(batch).argmax(-1)
        return table.index_select(0, to_device_of(best, table))  # expect: DL506

    # Correct

    def moved(self, model, prompts):
        table = torch.zeros(10, device=self.accelerator.device)
        best = model.generate(prompts).to(self.accelerator.device)
        values = table[best]
        return values

    def same_device(self, model, prompts):
        ids = model.generate(prompts)
        is_eos = ids == self.eos_id
        table = torch.zeros(10, device=ids.device)
        values = table[is_eos.any(dim=1)]
        return values

    def by_number(self, model, prompts):
        table = torch.zeros(10, device=self.accelerator.device)
        ids = model.generate(prompts)
        values = table[ids.size(0)]
        return values

    def of_the_batch(self, batch):
        table = torch.zeros(10, device=self.accelerator.device)
        values = table[batch["index"]]
        return values

    def met_before(self, model, prompts):
        # trl 1.16.0 experimental/a2po/a2po_trainer.py:324
        device = self.accelerator.device
        ids = model.generate(prompts)
        is_eos = torch.isin(ids, torch.tensor(self.eos_ids, device=device))
        eos_idx = torch.full((is_eos.size(0),), is_eos.size(1), device=device)
        eos_idx[is_eos.any(dim=1)] = is_eos.int().argmax(dim=1)[is_eos.any(dim=1)]
        return eos_idx

    def compared_before(self, model, prompts):
        device = self.accelerator.device
        wanted = torch.arange(10, device=device)
        table = torch.zeros(10, device=device)
        hits = model.generate(prompts) == wanted
        values = table[hits]
        return values
