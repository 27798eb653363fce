import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs
from transformers import AutoModel, AutoModelForCausalLM

from vqa import vqa_loader


class VisionLanguage(torch.nn.Module):
    def __init__(self, vision, language):
        super().__init__()
        self.vision = AutoModel.from_pretrained(vision)
        self.language = AutoModelForCausalLM.from_pretrained(language)
        self.bridge = torch.nn.Linear(1024, 4096)
        self.language.gradient_checkpointing_enable()

    def forward(self, pixels, ids, labels):
        image = self.bridge(self.vision(pixels).last_hidden_state)
        text = self.language.get_input_embeddings()(ids)
        return self.language(inputs_embeds=torch.cat([image, text], 1), labels=labels).loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vision", default="openai/clip-vit-large-patch14")
    parser.add_argument("--language", default="meta-llama/Llama-2-7b-hf")
    args = parser.parse_args()
    kwargs = DistributedDataParallelKwargs(find_unused_parameters=True)
    accelerator = Accelerator(kwargs_handlers=[kwargs])
    model = VisionLanguage(args.vision, args.language)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = vqa_loader()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for pixels, ids, labels in loader:
        accelerator.backward(model(pixels, ids, labels))
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
