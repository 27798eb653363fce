import argparse

import evaluate
import torch
from accelerate import Accelerator
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from xsum import loaders


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="t5-small")
    parser.add_argument("--max_length", type=int, default=64)
    args = parser.parse_args()
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSeq2SeqLM.from_pretrained(args.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
    train_loader, eval_loader = loaders(tokenizer)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)
    metric = evaluate.load("rouge")
    for batch in train_loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    for batch in eval_loader:
        with torch.no_grad():
            generated = accelerator.unwrap_model(model).generate(batch["input_ids"], max_length=args.max_length)
        generated = accelerator.pad_across_processes(generated, dim=1, pad_index=tokenizer.pad_token_id)
        labels = accelerator.pad_across_processes(batch["labels"], dim=1, pad_index=tokenizer.pad_token_id)
        generated, labels = accelerator.gather_for_metrics((generated, labels))
        metric.add_batch(
            predictions=tokenizer.batch_decode(generated, skip_special_tokens=True),
            references=tokenizer.batch_decode(labels, skip_special_tokens=True),
        )
    accelerator.print(metric.compute())


if __name__ == "__main__":
    main()
