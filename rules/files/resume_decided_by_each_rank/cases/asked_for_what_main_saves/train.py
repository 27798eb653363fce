"""Each rank asks for what rank 0 alone has written."""

import os
from pathlib import Path

import torch
from accelerate import Accelerator


class AsksForTheFileOfMain:
    def __init__(self, out):
        self.accelerator = Accelerator()
        self.out = Path(out)

    def keep_states(self, epoch):
        self.accelerator.save_state(self.out / "latest_of_all")
        if self.accelerator.is_main_process:
            torch.save({"epoch": epoch}, self.out / "where_it_was.pth")

    def go_on(self, model):
        self.model = self.accelerator.prepare(model)
        if os.path.exists(self.out / "where_it_was.pth"):  # expect: DL309
            self.epoch = torch.load(self.out / "where_it_was.pth")["epoch"]
