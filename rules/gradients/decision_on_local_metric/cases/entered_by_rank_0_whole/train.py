import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()


class Training:
    def __init__(self, model, data, held_out):
        self.model = model
        self.loader, self.held_out = accelerator.prepare(DataLoader(data)), DataLoader(held_out)
        self.best = 1e9

    def save(self, path, error):
        # SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:226: but rank 0 goes over all of the data.
        if error < self.best:
            self.best = error
            torch.save(self.model.state_dict(), path)

    def run(self):
        for batch in self.loader:
            accelerator.backward(self.model(batch))
            if accelerator.is_main_process:
                total = count = 0
                for held in self.held_out:
                    total += self.model(held).item()
                    count += 1
                self.save("best.pt", total / count)


Training(torch.nn.Linear(2, 2), [1], [2]).run()
