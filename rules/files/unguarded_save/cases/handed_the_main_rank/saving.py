import torch


class Saver:
    def __init__(self, folder, writes):
        self.folder = folder
        self.writes = writes

    def save(self, model, epoch):
        if not self.writes:
            return
        torch.save(model.state_dict(), f"{self.folder}/model-{epoch}.pt")
