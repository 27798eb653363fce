import torch


def save_model(model, optimizer, epoch, save_path):
    save_model = {"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(save_model, f"{save_path}/latest.pth")


def load_model(path, model):
    model.load_state_dict(torch.load(path, map_location="cpu")["model"])
    return model
