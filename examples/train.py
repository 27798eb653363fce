"""A fine-tuning script as many look: it works on one GPU. On two, five places go wrong."""

import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def sample(model, tokenizer, prompt):
    """Generate with eager attention, then go back to what was set."""
    previous = model.config._attn_implementation
    model.config._attn_implementation = "eager"
    batch = tokenizer(prompt, return_tensors="pt")
    tokens = model.generate(**batch)
    model.config._attn_implementation = previous
    return tokenizer.decode(tokens[0])


def main(name, texts, output_dir):
    """Train on `texts` for one epoch and save."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        del os.environ["CUDA_VISIBLE_DEVICES"]
    accelerator = Accelerator()
    set_seed(42 + accelerator.process_index)
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = DataLoader(texts, batch_size=4, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    print("context length", model.config.max_position_embeddings)

    for texts_of_batch in loader:
        batch = tokenizer(texts_of_batch, return_tensors="pt", padding=True)
        loss = model(**batch, labels=batch["input_ids"]).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

    try:
        print(sample(accelerator.unwrap_model(model), tokenizer, "Once upon a time"))
    except RuntimeError as error:
        print("no sample:", error)
    torch.save(model.state_dict(), os.path.join(output_dir, "model.pt"))
    if accelerator.is_main_process:
        tokenizer.save_pretrained(output_dir)
        accelerator.wait_for_everyone()


if __name__ == "__main__":
    main("gpt2", ["some", "texts"], "out")
