import torch
from accelerate import Accelerator
from ema_pytorch import EMA
from torch.utils.data import DataLoader

from f5_model import CFM
from speech import SpeechDataset


class Trainer:
    def __init__(self, model, epochs, learning_rate, log_samples=True):
        self.accelerator = Accelerator(mixed_precision="bf16", log_with="wandb")
        self.epochs, self.log_samples = epochs, log_samples
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)

    def train(self, dataset, save_per_updates=1000):
        loader = self.accelerator.prepare(DataLoader(dataset, batch_size=8, shuffle=True))
        global_update = 0
        for epoch in range(self.epochs):
            for batch in loader:
                with self.accelerator.accumulate(self.model):
                    loss = self.model(batch["mel"], text=batch["text"], lens=batch["lens"])
                    self.accelerator.backward(loss)
                    if self.accelerator.sync_gradients:
                        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                global_update += 1
                if global_update % save_per_updates == 0 and self.log_samples and self.accelerator.is_local_main_process:
                    with torch.inference_mode():
                        generated, _ = self.accelerator.unwrap_model(self.model).sample(
                            cond=batch["mel"][0][None], text=batch["text"][:1], duration=200, steps=32
                        )
                    torch.save(generated.cpu(), f"samples/update_{global_update}.pt")


def main():
    model = CFM(backbone="DiT", attn_backend="flash_attn")
    Trainer(model, epochs=100, learning_rate=7.5e-5).train(SpeechDataset("data"))


if __name__ == "__main__":
    main()
