"""Cases of DL107: gathers of tensors of unequal size, and of tensors of one size."""

import torch
import torch.distributed as dist
from accelerate import Accelerator

# --- bugs -----------------------------------------------------------------------------------------


def masked(accelerator: Accelerator, losses, mask):
    kept = losses[mask.bool()]
    return accelerator.gather(accelerator.pad_across_processes(kept, dim=0))  # expect: DL107


def compared(accelerator: Accelerator, losses):
    # Only those that count.
    return accelerator.gather_for_metrics(accelerator.pad_across_processes(losses[losses > 0], dim=0))  # expect: DL107


def generated(accelerator: Accelerator, model, batch):
    tokens = model.generate(**batch)
    return accelerator.gather(accelerator.pad_across_processes(tokens, dim=1))  # expect: DL107


def with_torch(values, mask):
    kept = values[mask.bool()]
    out = [torch.empty_like(kept) for _ in range(dist.get_world_size())]
    dist.all_gather(out, kept)  # expect: DL107
    return out


def logits_of_every_token(accelerator: Accelerator, model, batch):
    shifted = model(**batch).logits
    logits = shifted
    logits = logits[..., :-1, :].contiguous()
    return accelerator.gather(accelerator.pad_across_processes(logits, dim=1))  # expect: DL107


def kept_in_a_dictionary(accelerator: Accelerator, losses, mask):
    output = {"loss": losses.mean(), "kept": losses[mask.bool()]}
    return accelerator.gather(accelerator.pad_across_processes(output["kept"], dim=0)), accelerator.gather(output["loss"])  # expect: DL107


class Preferences:
    def forward_both(self, model, batch, chosen):
        outputs = model(**batch)
        all_logits = outputs.logits
        if self.decoder_only:
            chosen_logits = all_logits[:chosen, :-1, :]
        else:
            chosen_logits = all_logits[:chosen]
        if self.with_auxiliary_loss:
            return (outputs.loss, chosen_logits, outputs.aux_loss)
        return (outputs.loss, chosen_logits)

    def metrics(self, accelerator: Accelerator, model, batch, chosen):
        outputs = self.forward_both(model, batch, chosen)
        loss, chosen_logits = outputs[:2]
        return (
            accelerator.gather(loss),
            accelerator.gather(accelerator.pad_across_processes(chosen_logits, dim=1)).mean(),  # expect: DL107
            accelerator.gather(chosen_logits.mean()),
        )


def of_those_with_several(groups):
    # TorchEasyRec 54cac31 tzrec/metrics/grouped_xauc.py:157
    weights = []
    for group in groups:
        size = group.shape[0]
        if size > 1:
            weights.append(size)
    weights = torch.Tensor(weights)
    out = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(out, weights.cuda())  # expect: DL107
    return out


# --- right ----------------------------------------------------------------------------------------


def padded(accelerator: Accelerator, model, batch):
    tokens = model.generate(**batch)
    tokens = accelerator.pad_across_processes(tokens, dim=1, pad_index=0)
    return accelerator.gather(tokens)


def padded_at_once(accelerator: Accelerator, losses, mask):
    kept = losses[mask.bool()]
    return accelerator.gather(accelerator.pad_across_processes(kept, dim=0))


def reduced_to_one_number(accelerator: Accelerator, losses, mask):
    return accelerator.gather(losses[mask.bool()].mean())


def by_index(accelerator: Accelerator, values, index):
    return accelerator.gather(values[index])


def gathered_then_masked(accelerator: Accelerator, losses, mask):
    return accelerator.gather(losses)[accelerator.gather(mask)]


def objects(accelerator: Accelerator, values, mask):
    box = [None] * dist.get_world_size()
    dist.all_gather_object(box, values[mask.bool()])
    return box


def zeroed(accelerator: Accelerator, losses, mask):
    return accelerator.gather(torch.where(mask.bool(), losses, 0))


def sum_of_masked(accelerator: Accelerator, losses, mask):
    total = losses[mask.bool()].sum()
    return accelerator.gather(total)


def logits_of_the_last_token(accelerator: Accelerator, model, batch):
    logits = model(**batch).logits[:, -1, :]
    return accelerator.gather(logits)


def logits_of_every_token_padded(accelerator: Accelerator, model, batch):
    logits = model(**batch).logits
    shifted = logits[..., :-1, :]
    shifted = accelerator.pad_across_processes(shifted, dim=1)
    return accelerator.gather(shifted)


def chosen_for_each_token(accelerator: Accelerator, logits, labels):
    losses = torch.nn.functional.cross_entropy(logits[:, :-1, :].flatten(0, 1), labels)
    return accelerator.gather(losses)


def classes(accelerator: Accelerator, model, batch):
    logits = model(**batch).logits
    return accelerator.gather_for_metrics(logits)


def part_of_an_image(accelerator: Accelerator, images):
    difference = images[:, 1:, :]
    return accelerator.gather(difference)


class Means:
    # ms-swift 3602360 swift/rlhf_trainers/dpo_trainer.py:399
    def measured(self, logps, logits, mask, pairs):
        kept = logps[mask.bool()]
        return {
            "chosen": kept.mean(),
            "logits": logits[:pairs][mask[:pairs] > 0].mean(),
            "pairs": logps.sum(-1)[:pairs],
        }

    def gathered(self, accelerator: Accelerator, logps, logits, mask, pairs):
        output = self.measured(logps, logits, mask, pairs)
        return (
            accelerator.gather_for_metrics(output["chosen"]).mean(),
            accelerator.gather_for_metrics(output["logits"]).detach(),
            accelerator.gather_for_metrics(output["pairs"].detach()),
        )


def means_of_both(accelerator: Accelerator, losses, mask):
    output = {}
    output["wrong"] = losses[mask == 0]
    output["loss"] = losses[mask > 0].mean()
    return accelerator.gather(output["loss"]), output["wrong"]


def first_of_what_is_left(accelerator: Accelerator, rows, mask):
    kept = rows[mask.bool()]
    return accelerator.gather(kept[0])


def of_all_groups(groups, halve):
    weights = []
    for group in groups:
        if halve:
            group = group[::2]
        if group.shape[0] > 1:
            weights.append(group.shape[0])
        else:
            weights.append(0)
    weights = torch.Tensor(weights)
    out = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(out, weights)
    return out


def of_a_number_for_each(groups):
    kept = []
    for group in groups:
        if group.shape[0] > 1:
            kept.append(group.sum())
    total = torch.stack(kept).sum()
    out = [torch.empty_like(total) for _ in range(dist.get_world_size())]
    dist.all_gather(out, total)
    return out
