def fitting(saved, own):
    return {name: value for name, value in saved.items() if value.shape == own[name].shape}


def without_layers(saved):
    return {name.removeprefix("module.layers."): value for name, value in saved.items()}
