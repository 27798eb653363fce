import os

import torch
import yaml


def save_train_params(train_config, fsdp_config, rank):
    """Keeps the arguments beside the checkpoint, for loading it later."""
    train_config_dict = {k: str(v) for k, v in vars(train_config).items() if not k.startswith("__")}
    fsdp_config_dict = {k: str(v) for k, v in vars(fsdp_config).items() if not k.startswith("__")}
    folder_name = f"{train_config.dist_checkpoint_root_folder}/{train_config.dist_checkpoint_folder}-{train_config.model_name}"
    save_dir = os.path.join(os.getcwd(), folder_name)
    if not os.path.exists(save_dir):
        os.makedirs(save_dir, exist_ok=True)
    config_yaml = yaml.dump({**train_config_dict, **fsdp_config_dict}, indent=4)
    file_name = os.path.join(save_dir, "train_params.yaml")
    with open(file_name, "w") as f:
        f.write(config_yaml)
    if rank == 0:
        print(f"training params are saved in {file_name}")


def train(model, loader, sampler, optimizer, train_config, fsdp_config, local_rank, rank):
    for epoch in range(train_config.num_epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            loss = model(**{k: v.to(local_rank) for k, v in batch.items()}).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    if train_config.enable_fsdp:
        save_train_params(train_config, fsdp_config, rank)
