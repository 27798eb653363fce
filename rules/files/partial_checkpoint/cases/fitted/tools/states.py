def fitting(saved, own):
    if next(iter(saved)).startswith("module.") and not next(iter(own)).startswith("module."):
        return {name[len("module.") :]: value for name, value in saved.items()}
    return saved
